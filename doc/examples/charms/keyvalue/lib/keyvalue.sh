# Functions shared by this charm's hooks; source it.
program=keyvalue
. "$CHARM_DIR/lib/service.sh"

# apply: runs the store as configured and publishes its address to all clients.
apply() {
	[ -e "$service/started" ] || return 0
	read_address || return 0
	set -- serve --listen "$host:$port" --data "$service/data"
	case $(config-get log-commands) in
	[Tt]rue) set -- "$@" --log-commands ;;
	esac
	run_program "$@"
	for relation in $(relation-ids db); do
		relation-set -r "$relation" hostname="$host" port="$port"
	done
	report
}

# report: sets the status.
report() {
	read_address || return 0
	clients=0
	for relation in $(relation-ids db); do
		for client in $(relation-list -r "$relation"); do
			clients=$((clients + 1))
		done
	done
	status-set active "at $host:$port, clients: $clients"
}
