/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "lockout.h"
#include "running.h"
#include "snapshot.h"
#include "ssh_peer.h"
#include "../bpf/packet.h"

int running_explain(const struct running *running, const struct packet *packet,
		    struct explanation *explanation, struct message *message)
{
	struct evidence evidence = { .image = running->image, .now = kernel_now_ns() };
	struct prefix source = { .family = packet->family, .len = packet->family == 4 ? 32 : 128 };
	struct source_state *states;
	struct entry_state entry;
	struct secret secret;
	int err;

	memcpy(source.addr, packet->source, packet->family == 4 ? 4 : 16);
	if (entry_find(&running->instance, &source, evidence.now, &entry))
		evidence.entry = &entry;
	if (secret_read(&running->instance, &secret))
		evidence.secret = &secret;
	err = sources_of(&running->instance, running->image, &source, &states,
			 &evidence.state_count);
	if (err)
		return message_set(message, err, "the states can't be read: %s", strerror(-err));
	evidence.states = states;
	err = explain_packet(&evidence, packet, explanation, message);
	free(states);
	return err;
}

void running_warn_lockout(const struct running *running, const struct ruleset *ruleset)
{
	char what[PREFIX_TEXT + 80], text[PREFIX_TEXT];
	struct entry_state entry;
	struct prefix peer;
	bool there;

	if (!ssh_peer(&peer))
		return;
	there = entry_find(&running->instance, &peer, kernel_now_ns(), &entry);
	if (lockout_find(ruleset, there ? &entry : NULL, &peer, what, sizeof(what)))
		log_warn("%s drops your own SSH connection from %s", what,
			 units_address_text(&peer, text, sizeof(text)));
}
