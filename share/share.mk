# SPDX-License-Identifier: GPL-2.0-only
# The Debian package: built in $(BUILD)/deb, where share/debian is what dpkg wants as debian/.
DEB := $(BUILD)/deb
DEB_TREE := $(DEB)/weir-$(VERSION)

deb:
	rm -rf $(DEB)
	mkdir -p $(DEB_TREE)
	cp -r bpf user share Makefile LICENSE $(wildcard README.md) $(DEB_TREE)
	cp -r share/debian $(DEB_TREE)/debian
	cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL -u BUILD DEB_BUILD_OPTIONS=noautodbgsym \
		dpkg-buildpackage --build=binary --unsigned-changes --no-sign
	rm -rf $(DEB_TREE)

.PHONY: deb
