/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"
#include "words.h"

/* The files of share/completion, as the Makefile puts them into the program. */
extern const char completion_bash[], completion_bash_end[];
extern const char completion_zsh[], completion_zsh_end[];

int cmd_completion(struct command *command, struct message *message)
{
	static const char *const shells[] = { "bash", "zsh" };
	int err, found;

	err = words_expect(command, 1, 1, message);
	if (err)
		return err;
	found = word_find(command->argv[0], shells, 2, "shell", message);
	if (found < 0)
		return VERB_USAGE;
	if (found)
		fwrite(completion_zsh, 1, (uintptr_t)completion_zsh_end - (uintptr_t)completion_zsh,
		       command->out);
	else
		fwrite(completion_bash, 1,
		       (uintptr_t)completion_bash_end - (uintptr_t)completion_bash, command->out);
	return 0;
}
