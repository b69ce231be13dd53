# SPDX-License-Identifier: GPL-2.0-only
# weir: build, test, install. README.md says which target does what.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
# The sanitized tests are built by the other compiler, so that both have seen every file.
OTHER_CC := $(if $(findstring clang,$(CC)),gcc,$(CLANG))
# Ubuntu's /usr/sbin/bpftool only works beside the running kernel's own tools package.
BPFTOOL ?= $(shell for b in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool; do \
	$$b version >/dev/null 2>&1 && echo $$b && break; done)

PKGS := libbpf yaml-0.1 jansson libmicrohttpd hiredis ncursesw libpcap libcap-ng
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)

WARN := -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wundef \
	-Wwrite-strings
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DWEIR_VERSION='"$(VERSION)"' $(WARN) $(CFLAGS) \
	-I$(BUILD) -MMD -MP $(PKG_CFLAGS)
SANITIZE := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# Linux 6.1 takes no loop whose end falls through into its middle ("back-edge from insn"), which
# is how clang likes to lay loops out; without placement the blocks stay as they are written.
BPF_CFLAGS := -std=gnu11 -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter \
	-mllvm -disable-block-placement -MMD -MP -I/usr/include/$(MULTIARCH)

# Everything but main and the verbs is a library that the tests link too.
VERBS := user/main.c $(wildcard user/cmd_*.c)
LIB_SRC := $(filter-out $(VERBS),$(wildcard user/*.c))
TEXTS := $(BUILD)/default_policy.o $(BUILD)/completion_bash.o $(BUILD)/completion_zsh.o
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(TEXTS)
ASAN_OBJ := $(LIB_SRC:%.c=$(BUILD)/asan/%.o) $(TEXTS)
VERB_OBJ := $(VERBS:%.c=$(BUILD)/%.o)

all: $(BUILD)/weir

$(BUILD)/weir: $(VERB_OBJ) $(BUILD)/libweir.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libweir.a: $(LIB_OBJ)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/asan/libweir.a: $(ASAN_OBJ)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/user/%.o: user/%.c | $(BUILD)/weir.skel.h $(BUILD)/bench.skel.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/asan/user/%.o: user/%.c | $(BUILD)/weir.skel.h $(BUILD)/bench.skel.h
	@mkdir -p $(@D)
	$(OTHER_CC) $(ALL_CFLAGS) $(SANITIZE) -c -o $@ $<

# Texts lie in the binary as bytes: NAME[], NAME_end[].
define embed
@mkdir -p $(@D)
printf '.section .rodata\n.global $*, $*_end\n$*:\n.incbin "$<"\n$*_end:\n.byte 0\n.section .note.GNU-stack,"",%%progbits\n' | $(CC) -c -x assembler -o $@ -
endef

$(BUILD)/default_policy.o: $(BUILD)/%.o: share/default.yaml
	$(embed)

$(BUILD)/completion_bash.o: $(BUILD)/%.o: share/completion/weir.bash
	$(embed)

$(BUILD)/completion_zsh.o: $(BUILD)/%.o: share/completion/_weir
	$(embed)

$(BUILD)/%.bpf.o: bpf/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(BUILD)/weir.skel.h $(BUILD)/bench.skel.h: $(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(if $(BPFTOOL),,$(error bpftool is missing: run `make deps`))
	$(BPFTOOL) gen skeleton $< name $* > $@.tmp && mv $@.tmp $@

# Unit tests: tests/unit/test_*.c, cmocka, no root; built plain and with sanitizers.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/%.c=$(BUILD)/%)
UNIT_ASAN := $(UNIT_SRC:tests/%.c=$(BUILD)/asan/%)

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libweir.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(BUILD)/libweir.a $(LIBS) -lcmocka

$(BUILD)/asan/unit/%: tests/unit/%.c $(BUILD)/asan/libweir.a
	@mkdir -p $(@D)
	$(OTHER_CC) $(ALL_CFLAGS) $(SANITIZE) -o $@ $< $(BUILD)/asan/libweir.a $(LIBS) -lcmocka

# Tests that call the kernel side, with sanitizers: tests/kernel/NAME.t runs each in namespaces.
KERNEL := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/kernel/test_*.c))

$(BUILD)/kernel/%: tests/kernel/%.c $(BUILD)/asan/libweir.a
	@mkdir -p $(@D)
	$(OTHER_CC) $(ALL_CFLAGS) $(SANITIZE) -o $@ $< $(BUILD)/asan/libweir.a $(LIBS) -lcmocka

# What reads people's text, under libFuzzer: `make fuzz` looks for new inputs for a while, the
# tests replay the known ones.
FUZZ_SRC := $(wildcard user/config*.c) user/policy.c user/units.c user/words.c user/log.c \
	tests/fuzz/fuzz_config.c
FUZZ_SECONDS ?= 20
FUZZ := $(BUILD)/fuzz/config

$(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(ALL_CFLAGS) $(SANITIZE) -fsanitize=fuzzer-no-link -c -o $@ $<

$(FUZZ): $(FUZZ_SRC:%.c=$(BUILD)/fuzz/%.o) $(BUILD)/default_policy.o
	$(CLANG) $(SANITIZE) -fsanitize=fuzzer -o $@ $^ -lyaml

fuzz: $(FUZZ)
	@mkdir -p $(BUILD)/fuzz/found
	$(FUZZ) -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=5 -rss_limit_mb=1024 \
		-dict=tests/fuzz/policy.dict -artifact_prefix=$(BUILD)/fuzz/ \
		$(BUILD)/fuzz/found tests/fuzz/corpus share/examples

# Tests that hand frames to the program by BPF_PROG_TEST_RUN, under a clock of their own.
FRAMES := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/prog_run/test_*.c))
FRAMES_OBJ := $(patsubst tests/prog_run/%.c,$(BUILD)/prog_run/obj/%.o, \
	$(filter-out %.bpf.c,$(wildcard tests/prog_run/*.c)))
FRAMES_LIB := $(filter-out $(BUILD)/prog_run/obj/test_%.o,$(FRAMES_OBJ))

$(BUILD)/prog_run/obj/clock.bpf.o: tests/prog_run/clock.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(BUILD)/prog_run/obj/weir_clock.skel.h: $(BUILD)/prog_run/obj/clock.bpf.o
	$(BPFTOOL) gen skeleton $< name weir_clock > $@.tmp && mv $@.tmp $@

$(BUILD)/prog_run/obj/%.o: tests/prog_run/%.c | $(BUILD)/prog_run/obj/weir_clock.skel.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -I$(BUILD)/prog_run/obj -c -o $@ $<

$(BUILD)/prog_run/test_%: $(BUILD)/prog_run/obj/test_%.o $(FRAMES_LIB) $(BUILD)/libweir.a
	$(CC) $(LDFLAGS) -Wl,--wrap=kernel_now_ns -o $@ $^ $(LIBS) -lpthread

prog_run: $(FRAMES)
	$(PROVE) --timer $(FRAMES)

# The differential test at its full size.
differential: $(BUILD)/prog_run/test_differential
	$(PROVE) -v $< :: 10000000

# What sends and receives in the tests with real traffic.
TRAFFIC := $(addprefix $(BUILD)/netns/,flood raw talk foreign.bpf.o)

$(BUILD)/netns/%.bpf.o: tests/netns/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(BUILD)/netns/%.skel.h: $(BUILD)/netns/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $* > $@.tmp && mv $@.tmp $@

$(BUILD)/netns/flood: $(BUILD)/netns/flood.skel.h

$(BUILD)/netns/%: tests/netns/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -I$(BUILD)/netns -o $@ $< -lbpf

# What a packet costs, in ratios: tests/bench/README.md says how to read it. BENCH_QUICK=1 for a
# short run, BENCH_ONLY=WORDS for the rows that hold them.
BENCH := $(BUILD)/bench/bench
BENCH_OBJ := $(patsubst tests/%.c,$(BUILD)/%.o,$(wildcard tests/bench/[!.]*.c))
BENCH_OBJ := $(filter-out %.bpf.o,$(BENCH_OBJ))

$(BUILD)/bench/%.bpf.o: tests/bench/%.bpf.c Makefile
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(BUILD)/bench/%.skel.h: $(BUILD)/bench/%.bpf.o
	$(BPFTOOL) gen skeleton $< name bench_$* > $@.tmp && mv $@.tmp $@

$(BUILD)/bench/%.o: tests/bench/%.c | $(BUILD)/bench/driver.skel.h $(BUILD)/bench/reference.skel.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -I$(BUILD)/bench -c -o $@ $<

$(BENCH): $(BENCH_OBJ) $(BUILD)/libweir.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lpthread

bench:
	@.ci/deps bench
	$(MAKE) --no-print-directory $(BENCH) $(BUILD)/weir $(TRAFFIC)
	BUILD=$(abspath $(BUILD)) tests/bench/run.sh

# Each suite by itself, and all of them under one summary.
PROVE := CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$(abspath $(BUILD)) prove
NEEDS := $(BUILD)/weir $(BENCH) $(UNIT) $(UNIT_ASAN) $(KERNEL) $(FUZZ) $(FRAMES) $(TRAFFIC)
SUITES := $(UNIT) $(UNIT_ASAN) $(FRAMES)
SHELL_SUITES := lint fuzz kernel cli desk netns share bench kernels

unit: $(UNIT)
	$(PROVE) $(UNIT)

$(addprefix test-,$(SHELL_SUITES)): test-%: $(NEEDS)
	$(PROVE) $(wildcard tests/$*/*.t)

# The other kernels boot beside the rest, which waits more than it works; the rest runs in turn.
test: $(NEEDS)
	$(PROVE) --timer -j2 --rules='par=tests/kernels/*.t' --rules='seq=**' \
		$(SUITES) $(foreach s,$(SHELL_SUITES),$(wildcard tests/$(s)/*.t))

check: deps
	$(MAKE) --no-print-directory test

demo:
	@.ci/deps build
	$(MAKE) --no-print-directory $(BUILD)/weir $(TRAFFIC)
	BUILD=$(abspath $(BUILD)) tests/netns/demo.sh

format:
	clang-format -i $(wildcard bpf/*.[ch] user/*.[ch] tests/*/*.[ch])

# Only what is missing is installed; nothing is asked of the network where nothing is.
deps:
	@.ci/deps all

# SOURCE:DESTINATION of what is installed beside the program. Texts that name /usr/sbin/weir
# name the installed one afterwards.
SBINDIR := $(PREFIX)/sbin
PLACES := man/%.8:share/man/man8/%.8 man/%.5:share/man/man5/%.5 \
	completion/weir.bash:share/bash-completion/completions/weir \
	completion/_weir:share/zsh/site-functions/_weir \
	systemd/%:lib/systemd/system/% sysusers/%:lib/sysusers.d/% default.yaml:share/weir/default.yaml \
	$(foreach d,examples grafana prometheus fail2ban crowdsec,$(d)/%:share/weir/$(d)/%)
source = $(patsubst share/%,%,$(wildcard share/$(subst %,*,$(firstword $(subst :, ,$1)))))
target = $(patsubst $(firstword $(subst :, ,$1)),$(lastword $(subst :, ,$1)),$2)
EXTRAS := $(foreach p,$(PLACES),$(foreach f,$(call source,$p),$f:$(call target,$p,$f)))

install: $(BUILD)/weir
	install -D -m 755 $(BUILD)/weir $(DESTDIR)$(SBINDIR)/weir
	@for pair in $(EXTRAS); do \
		from=share/$${pair%%:*} to=$(DESTDIR)$(PREFIX)/$${pair#*:}; mode=644; \
		[ -x $$from ] && mode=755; echo "install $$to"; \
		sed 's|/usr/sbin/weir|$(SBINDIR)/weir|g' $$from | install -D -m $$mode /dev/stdin $$to; \
	done

uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/weir
	@for pair in $(EXTRAS); do rm -fv $(DESTDIR)$(PREFIX)/$${pair#*:}; done
	@rm -rf $(DESTDIR)$(PREFIX)/share/weir

include share/share.mk

clean:
	rm -rf $(BUILD)

.PHONY: all unit prog_run differential test check fuzz demo deps format install uninstall clean
.PHONY: $(addprefix test-,$(SHELL_SUITES))
.SECONDARY:
-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
