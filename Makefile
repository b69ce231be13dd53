# SPDX-License-Identifier: GPL-2.0-only
# weir: build, test, install. README.md says which target does what.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build

CC ?= gcc
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
PKGS := libbpf yaml-0.1 jansson libmicrohttpd hiredis ncursesw libpcap libcap-ng
MULTIARCH := $(shell $(CC) -print-multiarch)

WARN := -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wundef \
	-Wwrite-strings
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DWEIR_VERSION='"$(VERSION)"' $(WARN) $(CFLAGS) \
	-I$(BUILD) -MMD -MP $(shell pkg-config --cflags $(PKGS))
LIBS = $(shell pkg-config --libs $(PKGS)) -lm
BPF_CFLAGS := -std=gnu11 -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter \
	-I/usr/include/$(MULTIARCH)

# Everything but main and the verbs is a library that the tests link too.
VERBS := user/main.c $(wildcard user/cmd_*.c)
LIB_SRC := $(filter-out $(VERBS),$(wildcard user/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/default_policy.o
VERB_OBJ := $(VERBS:%.c=$(BUILD)/%.o)

all: $(BUILD)/weir

$(BUILD)/weir: $(VERB_OBJ) $(BUILD)/libweir.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libweir.a: $(LIB_OBJ)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/user/%.o: user/%.c | $(BUILD)/weir.skel.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The default policy lies in the binary as bytes: weir_default_policy[], _end[].
$(BUILD)/default_policy.o: share/default.yaml
	@mkdir -p $(@D)
	printf '.section .rodata\n.global default_policy, default_policy_end\ndefault_policy:\n.incbin "$<"\ndefault_policy_end:\n.byte 0\n.section .note.GNU-stack,"",%%progbits\n' | $(CC) -c -x assembler -o $@ -

$(BUILD)/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(BUILD)/weir.skel.h: $(BUILD)/weir.bpf.o
	$(BPFTOOL) gen skeleton $< name weir > $@.tmp && mv $@.tmp $@

# Unit tests: tests/unit/test_*.c, cmocka, no root; built plain and with sanitizers.
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libweir.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(BUILD)/libweir.a $(LIBS) -lcmocka

unit: $(UNIT)
	CMOCKA_MESSAGE_OUTPUT=TAP prove $(UNIT)

clean:
	rm -rf $(BUILD)

.PHONY: all unit clean
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
