/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "kernel_attach.h"
#include "kernel_maps.h"
#include "pins.h"

#define PIN_LINK "link-"

static void link_pin(unsigned int ifindex, char pin[32])
{
	snprintf(pin, 32, PIN_LINK "%u", ifindex);
}

static int open_link(const char *directory, const char *pin)
{
	char path[PINS_PATH];
	int fd;

	pins_path(directory, pin, path);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

/* The interface a link holds: 0 once the interface or the link is gone. */
static int link_info(int fd, struct bpf_link_info *info)
{
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(fd, info, &size) ? -errno : 0;
}

/* The end of the last reference detaches at some later time: detach first, at once. */
static int remove_link(const char *directory, const char *pin)
{
	int fd = open_link(directory, pin);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	bpf_link_detach(fd);
	close(fd);
	pins_remove(directory, pin);
	return 0;
}

static int visit_remove(const char *pin, void *context)
{
	return remove_link(context, pin);
}

int attach_remove_all(const char *directory)
{
	char path[PINS_PATH];

	snprintf(path, sizeof(path), "%s", directory);
	return pins_each(path, PIN_LINK, visit_remove, path);
}

struct update {
	const char *directory;
	int program_fd;
	struct message *message;
};

static int visit_update(const char *pin, void *context)
{
	const struct update *update = context;
	struct bpf_link_info info;
	int fd = open_link(update->directory, pin);
	int err = fd < 0 ? fd : link_info(fd, &info);

	if (!err && info.xdp.ifindex && bpf_link_update(fd, update->program_fd, NULL))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		return message_set(update->message, err, "cannot update %s/%s: %s",
				   update->directory, pin, strerror(-err));
	return 0;
}

int attach_update_all(const char *directory, int program_fd, struct message *message)
{
	struct update update = { directory, program_fd, message };

	return pins_each(directory, PIN_LINK, visit_update, &update);
}

static int program_info(int fd, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(fd, info, &size) ? -errno : 0;
}

static int open_program(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = instance->readonly ? BPF_F_RDONLY : 0);
	char path[PINS_PATH];
	int fd;

	pins_path(instance->path, "program", path);
	fd = bpf_obj_get_opts(path, &options);
	return fd < 0 ? -errno : fd;
}

/* What runs on an interface. */
struct running {
	uint32_t program_id; /* 0: nothing */
	uint32_t mode;	     /* XDP_FLAGS_* */
};

static int query_interface(unsigned int ifindex, struct running *running)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int err = bpf_xdp_query(ifindex, 0, &query);

	if (err)
		return err;
	*running = (struct running){ .program_id = query.prog_id };
	switch (query.attach_mode) {
	case XDP_ATTACHED_SKB:
		*running = (struct running){ query.skb_prog_id, XDP_FLAGS_SKB_MODE };
		break;
	case XDP_ATTACHED_HW:
		*running = (struct running){ query.hw_prog_id, XDP_FLAGS_HW_MODE };
		break;
	case XDP_ATTACHED_DRV:
	case XDP_ATTACHED_MULTI: /* beside one in hardware */
		*running = (struct running){ query.drv_prog_id, XDP_FLAGS_DRV_MODE };
		break;
	}
	return 0;
}

static const char *mode_name(uint32_t mode)
{
	if (mode == XDP_FLAGS_SKB_MODE)
		return "generic";
	return mode == XDP_FLAGS_HW_MODE ? "offloaded" : "native";
}

/* The id of the link that holds an interface, 0: none (attached by netlink, or not to be seen). */
static uint32_t holding_link(unsigned int ifindex, uint32_t program_id)
{
	__u32 id = 0, found = 0;

	while (!found && !bpf_link_get_next_id(id, &id)) {
		struct bpf_link_info info;
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!link_info(fd, &info) && info.type == BPF_LINK_TYPE_XDP &&
		    info.xdp.ifindex == ifindex && info.prog_id == program_id)
			found = id;
		close(fd);
	}
	return found;
}

static void program_name(uint32_t id, char *to, size_t size)
{
	struct bpf_prog_info info;
	int fd = bpf_prog_get_fd_by_id(id);

	to[0] = '\0';
	if (fd < 0)
		return;
	if (!program_info(fd, &info) && info.name[0])
		snprintf(to, size, " (%s)", info.name);
	close(fd);
}

static int explain_foreign(const char *interface, const struct running *foreign, uint32_t link_id,
			   struct message *message)
{
	char name[BPF_OBJ_NAME_LEN + 4];

	program_name(foreign->program_id, name, sizeof(name));
	if (!link_id) {
		message_set(message, -EBUSY, "%s runs another XDP program: id %u%s, %s mode",
			    interface, foreign->program_id, name, mode_name(foreign->mode));
		return message_hint(message, -EBUSY, "--replace removes it");
	}
	message_set(message, -EBUSY,
		    "%s runs another XDP program: id %u%s, %s mode, held by link %u", interface,
		    foreign->program_id, name, mode_name(foreign->mode), link_id);
	return message_hint(
		message, -EBUSY,
		"a link cannot be replaced: stop its owner, or bpftool link detach id %u", link_id);
}

/* Take a foreign program off; *fd keeps it, to put it back where ours does not get on. */
static int take_off(unsigned int ifindex, const char *interface, const struct running *foreign,
		    int *fd, struct message *message)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, options);
	int err;

	*fd = bpf_prog_get_fd_by_id(foreign->program_id);
	if (*fd < 0)
		return message_set(message, -errno, "cannot get program %u: %s",
				   foreign->program_id, strerror(errno));
	options.old_prog_fd = *fd;
	err = bpf_xdp_detach(ifindex, foreign->mode | XDP_FLAGS_REPLACE, &options);
	if (!err)
		return 0;
	close(*fd);
	*fd = -1;
	return message_set(message, err, "cannot take program %u off %s: %s", foreign->program_id,
			   interface, strerror(-err));
}

static int link_interface(int program_fd, unsigned int ifindex, uint32_t mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = mode);
	int fd = bpf_link_create(program_fd, ifindex, BPF_XDP, &options);

	return fd < 0 ? -errno : fd;
}

static int explain_refusal(const char *interface, const char *mode, int err,
			   struct message *message)
{
	message_set(message, err, "%s refuses a program in %s mode: %s", interface, mode,
		    strerror(-err));
	if (err == -EPERM)
		return message_hint(message, err, "run as root, or with CAP_BPF and CAP_NET_ADMIN");
	if (err == -EBUSY)
		return message_hint(message, err, "another XDP program was attached meanwhile");
	if (!strcmp(mode, "native"))
		return message_hint(message, err, "--mode generic works with every driver");
	return err;
}

/* The reason why native mode was refused stays in *message when generic mode does. */
static int link_by_mode(int program_fd, unsigned int ifindex, const char *interface,
			enum attach_mode mode, struct message *message)
{
	int native = 0, fd;

	if (mode != MODE_GENERIC) {
		native = link_interface(program_fd, ifindex, XDP_FLAGS_DRV_MODE);
		if (native >= 0)
			return native;
		if (mode == MODE_NATIVE || native == -EPERM || native == -EBUSY)
			return explain_refusal(interface, "native", native, message);
	}
	fd = link_interface(program_fd, ifindex, XDP_FLAGS_SKB_MODE);
	if (fd < 0)
		return explain_refusal(interface, "generic", fd, message);
	if (native)
		message_set(message, 0, "%s: attached in generic mode, native was refused: %s",
			    interface, strerror(-native));
	return fd;
}

static void remember_name(const struct instance *instance, unsigned int ifindex,
			  const char *interface)
{
	char name[sizeof(((struct attachment *)0)->interface)] = "";

	snprintf(name, sizeof(name), "%s", interface);
	bpf_map_update_elem(instance->maps[MAP_INTERFACES], &ifindex, name, BPF_ANY);
}

static void forget_name(const struct instance *instance, unsigned int ifindex)
{
	bpf_map_delete_elem(instance->maps[MAP_INTERFACES], &ifindex);
}

static int pin_link(struct instance *instance, int fd, unsigned int ifindex, const char *interface,
		    struct message *message)
{
	char pin[32];
	int err;

	link_pin(ifindex, pin);
	err = pins_put(fd, instance->path, pin, PINS_PRIVATE, message);
	if (!err)
		remember_name(instance, ifindex, interface);
	else
		bpf_link_detach(fd);
	return err;
}

static int attach_program(struct instance *instance, unsigned int ifindex, const char *interface,
			  enum attach_mode mode, struct message *message)
{
	int program = open_program(instance);
	int link, err;

	if (program < 0)
		return message_set(message, program, "cannot open the program of %s: %s",
				   instance->name, strerror(-program));
	link = link_by_mode(program, ifindex, interface, mode, message);
	close(program);
	if (link < 0)
		return link;
	err = pin_link(instance, link, ifindex, interface, message);
	close(link);
	return err;
}

static int attach_instead(struct instance *instance, unsigned int ifindex, const char *interface,
			  enum attach_mode mode, const struct running *foreign,
			  struct message *message)
{
	int theirs, err;

	err = take_off(ifindex, interface, foreign, &theirs, message);
	if (err)
		return err;
	err = attach_program(instance, ifindex, interface, mode, message);
	if (err)
		bpf_xdp_attach(ifindex, theirs, foreign->mode, NULL);
	close(theirs);
	return err;
}

/* 1: our link holds the interface; 0: it does not, and no pin of it is left. */
static int settle_own_link(const struct instance *instance, unsigned int ifindex,
			   const char *interface, const struct running *running,
			   struct message *message)
{
	struct bpf_link_info info;
	char pin[32];
	int fd, err;

	link_pin(ifindex, pin);
	fd = open_link(instance->path, pin);
	if (fd == -ENOENT)
		return 0;
	err = fd < 0 ? fd : link_info(fd, &info);
	if (fd >= 0)
		close(fd);
	if (err)
		return message_set(message, err, "cannot read %s/%s: %s", instance->path, pin,
				   strerror(-err));
	if (info.xdp.ifindex && info.prog_id == running->program_id)
		return 1;
	if (info.xdp.ifindex) {
		message_set(message, -EBUSY,
			    "%s has index %u, which the instance %s holds in another network "
			    "namespace",
			    interface, ifindex, instance->name);
		return message_hint(message, -EBUSY, "use --instance for a second one");
	}
	pins_remove(instance->path, pin);
	return 0;
}

static int check_mode(const char *interface, const struct running *running, enum attach_mode mode,
		      struct message *message)
{
	bool native = running->mode != XDP_FLAGS_SKB_MODE;

	if (mode == MODE_AUTO || native == (mode == MODE_NATIVE))
		return 0;
	message_set(message, -EBUSY, "%s is attached in %s mode", interface,
		    mode_name(running->mode));
	return message_hint(message, -EBUSY, "weir detach %s first: the mode of a link is fixed",
			    interface);
}

struct gone {
	const struct instance *instance;
	const char *interface;
};

/* A link whose interface is gone, and had the name that is attached now. */
static int visit_gone(const char *pin, void *context)
{
	const struct gone *gone = context;
	char name[sizeof(((struct attachment *)0)->interface)] = "";
	uint32_t ifindex = strtoul(pin + strlen(PIN_LINK), NULL, 10);
	int fd = open_link(gone->instance->path, pin);
	struct bpf_link_info info;
	bool dead;

	if (fd < 0)
		return 0;
	dead = !link_info(fd, &info) && !info.xdp.ifindex;
	close(fd);
	bpf_map_lookup_elem(gone->instance->maps[MAP_INTERFACES], &ifindex, name);
	if (dead && !strcmp(name, gone->interface)) {
		pins_remove(gone->instance->path, pin);
		forget_name(gone->instance, ifindex);
	}
	return 0;
}

static int attach_over(struct instance *instance, unsigned int ifindex, const char *interface,
		       enum attach_mode mode, bool replace, const struct running *running,
		       struct message *message)
{
	uint32_t link_id;

	if (!running->program_id)
		return attach_program(instance, ifindex, interface, mode, message);
	link_id = holding_link(ifindex, running->program_id);
	if (!replace || link_id)
		return explain_foreign(interface, running, link_id, message);
	return attach_instead(instance, ifindex, interface, mode, running, message);
}

static int find_interface(const char *interface, unsigned int *ifindex, struct message *message)
{
	*ifindex = if_nametoindex(interface);
	if (*ifindex)
		return 0;
	message_set(message, -ENODEV, "there is no interface %.32s", interface);
	return message_hint(message, -ENODEV, "ip link shows those there are");
}

int instance_attach(struct instance *instance, const char *interface, enum attach_mode mode,
		    bool replace, bool *already, struct message *message)
{
	struct gone gone = { instance, interface };
	struct running running;
	unsigned int ifindex;
	int err;

	err = find_interface(interface, &ifindex, message);
	if (err)
		return err;
	err = query_interface(ifindex, &running);
	if (err)
		return message_set(message, err, "cannot ask what runs on %s: %s", interface,
				   strerror(-err));
	message_set(message, 0, "%s", "");
	err = settle_own_link(instance, ifindex, interface, &running, message);
	if (err == 1) {
		*already = true;
		return check_mode(interface, &running, mode, message);
	}
	if (!err)
		err = attach_over(instance, ifindex, interface, mode, replace, &running, message);
	if (err)
		return err;
	*already = false;
	pins_each(instance->path, PIN_LINK, visit_gone, &gone);
	return 0;
}

int instance_detach(struct instance *instance, const char *interface, struct message *message)
{
	struct attachment *list;
	size_t count, i;
	char pin[32];
	int err;

	err = instance_attachments(instance, &list, &count, message);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		if (!strcmp(list[i].interface, interface))
			break;
	if (i == count) {
		err = message_set(message, -ENOENT, "%.32s is not attached to the instance %s",
				  interface, instance->name);
	} else {
		link_pin(list[i].ifindex, pin);
		err = remove_link(instance->path, pin);
		if (err)
			message_set(message, err, "cannot remove %s/%s: %s", instance->path, pin,
				    strerror(-err));
		else
			forget_name(instance, list[i].ifindex);
	}
	free(list);
	return err;
}

struct listing {
	const struct instance *instance;
	uint32_t program_id;
	struct attachment *list;
	size_t count;
};

/*
 * The link says whether it holds an interface, wherever that is, but needs the right to write;
 * without, what netlink shows of this network namespace must do.
 */
static bool link_holds(const struct listing *listing, const char *pin, struct attachment *out)
{
	struct running running = {};
	struct bpf_link_info info;
	bool here, holds;
	int fd;

	here = !query_interface(out->ifindex, &running) && running.program_id &&
	       running.program_id == listing->program_id;
	out->native = running.mode != XDP_FLAGS_SKB_MODE;
	out->program_id = listing->program_id;
	fd = open_link(listing->instance->path, pin);
	if (fd < 0)
		return here;
	holds = !link_info(fd, &info) && info.xdp.ifindex;
	out->link_id = info.id;
	close(fd);
	return holds;
}

static int visit_list(const char *pin, void *context)
{
	struct listing *listing = context;
	struct attachment *list;
	struct attachment *out;
	char name[IF_NAMESIZE];

	if (strchr(pin, '~'))
		return 0;
	list = realloc(listing->list, (listing->count + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	listing->list = list;
	out = &list[listing->count++];
	*out = (struct attachment){ .ifindex = strtoul(pin + strlen(PIN_LINK), NULL, 10),
				    .frags = listing->instance->meta.frags };
	out->attached = link_holds(listing, pin, out);
	bpf_map_lookup_elem(listing->instance->maps[MAP_INTERFACES], &out->ifindex, out->interface);
	if (out->attached && if_indextoname(out->ifindex, name))
		snprintf(out->interface, sizeof(out->interface), "%s", name);
	return 0;
}

static int compare_attachments(const void *a, const void *b)
{
	const struct attachment *x = a, *y = b;

	return (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

int instance_attachments(const struct instance *instance, struct attachment **list, size_t *count,
			 struct message *message)
{
	struct listing listing = { .instance = instance };
	struct bpf_prog_info info = {};
	int program = open_program(instance);
	int err = program < 0 ? program : program_info(program, &info);

	if (program >= 0)
		close(program);
	if (err)
		return message_set(message, err, "cannot open the program of %s: %s",
				   instance->name, strerror(-err));
	listing.program_id = info.id;
	err = pins_each(instance->path, PIN_LINK, visit_list, &listing);
	if (err) {
		free(listing.list);
		return message_set(message, err, "cannot read %s: %s", instance->path,
				   strerror(-err));
	}
	if (listing.count)
		qsort(listing.list, listing.count, sizeof(*listing.list), compare_attachments);
	*list = listing.list;
	*count = listing.count;
	return 0;
}
