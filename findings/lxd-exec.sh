#!/usr/bin/env bash
# LXD 5.0.2: exec in a directory that isn't there succeeds elsewhere, and an empty PATH hides every command
#
# Guess: a working directory that isn't there is an error; a command that isn't there is a success that returned 127, as
#        with a shell; an empty PATH in the environment is replaced by the default.
# Seen:  the command runs, in the root directory, and nothing says so. A command that isn't there makes the operation fail,
#        and one that can't be executed too, with 127 and 126 in their metadata, while a command that is killed succeeds
#        and returned 137. An empty PATH is taken as it is, so that sh is not found.
. "$(dirname "$0")/lib/lxd.sh"

call POST /1.0/instances '{"name":"one","source":{"type":"image","alias":"tiny"}}' >/dev/null
call PUT /1.0/instances/one/state '{"action":"start","timeout":30}' >/dev/null
run() { call POST /1.0/instances/one/exec "{\"record-output\":true,$1}"; }

expect "no such directory" "Success, returned 0" "$(run '"command":["sh","-c","test $(pwd) = /"],"cwd":"/words"')"
expect "no such command" "Failure: Command not found, returned 127" "$(run '"command":["words"]')"
expect "not a program" "Failure: Command not executable, returned 126" "$(run '"command":["/sbin"]')"
expect "killed" "Success, returned 137" "$(run '"command":["sh","-c","kill -9 $$"]')"
expect "PATH is empty" "Failure: Command not found, returned 127" "$(run '"command":["sh","-c","true"],"environment":{"PATH":""}')"
finish
