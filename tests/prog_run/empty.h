/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes the maps of a loaded program as good as new, so that not each fixture
 * has to load it. Must not know what the maps mean.
 */
#ifndef WEIR_TEST_EMPTY_H
#define WEIR_TEST_EMPTY_H

/* Zero each element of an array, delete each of a hash. Bails out where that fails. */
void empty_map(int map);

#endif
