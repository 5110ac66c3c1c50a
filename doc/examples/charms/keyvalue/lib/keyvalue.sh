# Functions that the hooks of this charm share; source it.
program=keyvalue
. "$CHARM_DIR/lib/service.sh"

# apply: makes the store run as configured, and tells all clients its address.
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
