# Functions that install and run a charm's program, for any POSIX sh. Set $program to its
# name, then source this file.
#
# The program is installed beside the charm directory, not in it, so that juju can upgrade
# the charm while the program runs. $service contains
#
#	bin/$program  the program
#	started       exists between the hooks start and stop
#	lock          locked by the program while it runs
#	pid           its process id; valid only while the lock is held
#	arguments     its arguments
#	log           its output

service=$(dirname "$CHARM_DIR")/service

# fail MESSAGE...: logs an error and fails the hook.
fail() {
	juju-log -l ERROR "$*"
	exit 1
}

# read_address: sets $host to the unit's address and $port to the configured port. If the
# port is invalid, it sets the status and returns an error.
read_address() {
	host=$(unit-get private-address)
	[ -n "$host" ] || fail "the unit has no private-address"
	port=$(config-get port)
	if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
		status-set blocked "port must be between 1 and 65535, not $port"
		return 1
	fi
}

# install_program: copies the program out of the charm. If it is running, the old version
# runs on until run_program is called.
install_program() {
	[ -x "$CHARM_DIR/bin/$program" ] ||
		fail "the charm has no bin/$program; see its README for how to build it"
	mkdir -p "$service/bin"
	cmp -s "$CHARM_DIR/bin/$program" "$service/bin/$program" && return
	# The file of a running program can't be written to, but can be replaced.
	cp "$CHARM_DIR/bin/$program" "$service/bin/$program.new"
	mv "$service/bin/$program.new" "$service/bin/$program"
	rm -f "$service/arguments"
}

# running: reports whether the program is running. The process id can't tell, because
# another process may have reused it.
running() {
	[ -e "$service/lock" ] || return 1
	locked=0
	flock -n -s "$service/lock" true || locked=$?
	case $locked in
	0) return 1 ;;
	1) return 0 ;;
	*) fail "cannot check whether $program is running: flock returned $locked" ;;
	esac
}

# run_program ARGUMENTS...: runs the program, or restarts it if it runs with other arguments.
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

# start_program ARGUMENTS...: starts the program and waits until it is ready. It gets its own
# session, so that it outlives the hook, and does not hold the hook's output open. It keeps
# the environment, by which juju may identify the process, except for the variables that let
# hook tools act for the hook. $(...) returns when the program closes its standard output:
# when it is ready, or exits.
start_program() {
	if [ -n "$(find "$service/log" -size +1024k 2>/dev/null)" ]; then
		mv "$service/log" "$service/log.old"
	fi
	rm -f "$service/pid"
	ready=$(
		cd "$service" || exit
		unset JUJU_CONTEXT_ID JUJU_AGENT_SOCKET
		setsid sh -c 'flock -n 9 || exit 1; echo $$ >pid; exec "$@"' \
			sh "$service/bin/$program" "$@" 9>>lock </dev/null 2>>log &
	)
	[ -n "$ready" ] || return 1
	juju-log "$program: $ready"
}

# stop_program: stops the program, with SIGKILL if necessary, and waits for it to exit.
stop_program() {
	running || return 0
	for signal in TERM KILL; do
		kill -s "$signal" "$(cat "$service/pid")" 2>/dev/null || true
		# The lock is released when the process exits.
		if timeout 10 flock -s "$service/lock" true; then return; fi
	done
	fail "cannot stop $program, process $(cat "$service/pid")"
}
