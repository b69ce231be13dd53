# SPDX-License-Identifier: GPL-2.0-only
"""Run the weir action as a jail of fail2ban would: its own reader, its own command runner.

usage: ban_as_fail2ban.py CONFIGDIR WEIR ban|prolong|unban ADDRESS BANTIME"""
import sys

from fail2ban.client.actionreader import ActionReader
from fail2ban.server.action import CommandAction


def action_of(config, weir):
    reader = ActionReader("weir", "jail", {"weir": weir}, share_config={}, basedir=config)
    if not reader.read():
        sys.exit("fail2ban finds no action weir in " + config)
    reader.getOptions({})
    action = CommandAction(None, "weir")
    for command in reader.convert():
        if command[0] == "multi-set":
            for name, value in command[4]:
                setattr(action, name, value)
        elif command[2:4] == ["action", "weir"]:
            setattr(action, command[4], command[5])
    return action


def main():
    config, weir, verb, address, bantime = sys.argv[1:]
    action = action_of(config, weir)
    ticket = {"ip": address, "bantime": bantime, "failures": "3", "family": "inet4"}
    action.start()
    if verb == "unban":
        action.ban(ticket)
    getattr(action, verb)(ticket)
    action.stop()


main()
