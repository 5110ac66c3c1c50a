# Functions with which a hook runs the program that its charm deploys. For any POSIX
# sh; source it after setting $program to the program's name.
#
# The software is installed beside the charm directory, not in it, so that juju can
# replace the one without touching the other. $service contains
#
#	bin/$program  the program
#	started       exists between the hooks start and stop
#	lock          locked by the program while it runs
#	pid           its process id; when the lock is free, it may be another process's
#	arguments     its arguments
#	log           its output

service=$(dirname "$CHARM_DIR")/service

# fail MESSAGE...: ends the hook with an error.
fail() {
	juju-log -l ERROR "$*"
	exit 1
}

# read_address: sets $host to the unit's address and $port to the configured port, or
# sets the status and returns an error.
read_address() {
	host=$(unit-get private-address)
	[ -n "$host" ] || fail "the unit has no private-address"
	port=$(config-get port)
	if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
		status-set blocked "port has to be between 1 and 65535, not $port"
		return 1
	fi
}

# install_program: copies the program out of the charm. If it runs, it goes on as the
# old version until run_program is called.
install_program() {
	[ -x "$CHARM_DIR/bin/$program" ] ||
		fail "the charm has no bin/$program; its README says how to build it"
	mkdir -p "$service/bin"
	cmp -s "$CHARM_DIR/bin/$program" "$service/bin/$program" && return
	# A running program can't be written to, but it can be replaced.
	cp "$CHARM_DIR/bin/$program" "$service/bin/$program.new"
	mv "$service/bin/$program.new" "$service/bin/$program"
	rm -f "$service/arguments"
}

# running: whether the program runs. The process id alone does not tell, since another
# process may have it by now.
running() {
	[ -e "$service/lock" ] || return 1
	locked=0
	flock -n -s "$service/lock" true || locked=$?
	case $locked in
	0) return 1 ;;
	1) return 0 ;;
	*) fail "cannot ask whether $program runs: flock returned $locked" ;;
	esac
}

# run_program ARGUMENTS...: makes sure that the program runs with these arguments.
run_program() {
	printf '%s\n' "$@" >"$service/arguments.new"
	if running && cmp -s "$service/arguments.new" "$service/arguments"; then
		rm "$service/arguments.new"
		return
	fi
	stop_program
	start_program "$@" || fail "cannot start $program: $(tail -n 1 "$service/log")"
	mv "$service/arguments.new" "$service/arguments"
}

# start_program ARGUMENTS...: starts the program and waits until it is ready. It gets a
# session of its own, so that it outlives the hook, and does not hold the hook's output
# open. It keeps the environment, by which juju may identify the process, except for the
# variables with which hook tools act as the hook. $(...) returns when the program closes
# its standard output, which it does when it is ready or dies.
start_program() {
	if [ -n "$(find "$service/log" -size +1024k 2>/dev/null)" ]; then
		mv "$service/log" "$service/log.old"
	fi
	rm -f "$service/pid"
	said=$(
		cd "$service" || exit
		unset JUJU_CONTEXT_ID JUJU_AGENT_SOCKET
		setsid sh -c 'flock -n 9 || exit 1; echo $$ >pid; exec "$@"' \
			sh "$service/bin/$program" "$@" 9>>lock </dev/null 2>>log &
	)
	[ -n "$said" ] || return 1
	juju-log "$program: $said"
}

# stop_program: ends the program, with SIGKILL if necessary, and waits until it is gone.
stop_program() {
	running || return 0
	for signal in TERM KILL; do
		kill -s "$signal" "$(cat "$service/pid")" 2>/dev/null || true
		# The lock is free when the process is gone.
		if timeout 10 flock -s "$service/lock" true; then return; fi
	done
	fail "cannot end $program, process $(cat "$service/pid")"
}
