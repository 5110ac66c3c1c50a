
# Makes this host the machine of $agent, with the configuration $config. On failure it runs $removal.
refuse() {
	echo "juju: $*" >&2
	exit 3
}

make_machine() {
	umask 022
	attempts=${attempts:-3}
	pause=${pause:-3}
	[ "$(id -u)" = 0 ] || refuse "this is not root"
	# Of two concurrent installations, only one creates the directory. It may be left over and empty.
	rmdir "$root" 2>/dev/null
	mkdir "$root" 2>/dev/null || refuse "this host is a machine already: there is $root"
	# Clean up on signals too.
	trap 'exit 1' HUP INT TERM PIPE
	trap 'undo' EXIT
	mkdir "$root/agents" && mkdir -m 0700 "$agent" || exit 1
	(umask 077 && printf '%s' "$config" >"$agent/agent.conf") || exit 1
	(machine) </dev/null
	status=$?
	[ "$status" = 0 ] || exit 1
	trap - EXIT
	exit 0
}

undo() {
	trap '' HUP INT TERM PIPE
	[ ! -d /run/systemd/system ] || systemctl stop "$unit" >/dev/null 2>&1
	eval "$removal" || echo "juju: cannot remove what was installed" >&2
}

make_machine
