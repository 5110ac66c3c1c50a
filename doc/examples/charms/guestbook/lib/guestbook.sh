# Functions shared by this charm's hooks; source it.

conf=/etc/guestbook.conf

# The relation that is being removed; set by db-relation-broken.
leaving_relation=

# get SETTING: prints a setting of $unit in $relation.
get() { relation-get -r "$relation" "$1" "$unit"; }

# find_database: sets $host, $db_port, $database, $user and $password for a database that admits
# this unit, or returns an error if there is none. Sets $related if there is any relation.
find_database() {
	related=
	for relation in $(relation-ids db); do
		[ "$relation" != "$leaving_relation" ] || continue
		related=yes
		for unit in $(relation-list -r "$relation"); do
			case " $(get allowed-units) " in
			*" $JUJU_UNIT_NAME "*) ;;
			*) continue ;;
			esac
			host=$(get host) db_port=$(get port) database=$(get database)
			user=$(get user) password=$(get password)
			return 0
		done
	done
	return 1
}

# quote TEXT: prints the text as a value for systemd's EnvironmentFile, with line breaks replaced
# by spaces.
quote() { printf '"%s"' "$(printf %s "$1" | tr '\n' ' ' | sed 's/[\\"`$]/\\&/g')"; }

# environment PORT: prints the program's environment.
environment() {
	cat <<-END
		# Written by juju.
		TITLE=$(quote "$(config-get title)")
		UNIT=$JUJU_UNIT_NAME
		PORT=$1
		PGHOST=$host
		PGPORT=$db_port
		PGDATABASE=$database
		PGUSER=$user
		PGPASSWORD=$password
	END
}

# run_page: makes the program run with the current environment. It is stopped before its
# environment file changes: if the hook then fails, the next one starts it with the new file.
run_page() {
	environment "$port" | (umask 077 && cat >"$conf.new")
	cmp -s "$conf.new" "$conf" || systemctl stop guestbook
	mv "$conf.new" "$conf"
	systemctl enable --quiet --now guestbook
}

# open_only PORT: opens the port and closes all others.
open_only() {
	for old in $(opened-ports); do
		[ "$old" = "$1/tcp" ] || close-port "$old"
	done
	open-port "$1/tcp"
}

# publish_address: tells all proxies where the page is, and all databases where connections come
# from. Juju sets private-address when the unit joins, but not when the unit later moves to a new
# machine with another address.
publish_address() {
	for relation in $(relation-ids website); do
		relation-set -r "$relation" hostname="$address" port="$port"
	done
	for relation in $(relation-ids db); do
		[ "$relation" != "$leaving_relation" ] || continue
		relation-set -r "$relation" private-address="$address"
	done
}

# apply: runs the page as the configuration and the relations require.
apply() {
	port=$(config-get port)
	if [ "$port" -lt 1024 ] || [ "$port" -gt 65535 ]; then
		status-set blocked "port must be between 1024 and 65535, not $port"
		return
	fi
	address=$(unit-get private-address)
	open_only "$port"
	publish_address
	if find_database; then
		run_page
		status-set active "at http://$address:$port/"
		return
	fi
	systemctl disable --quiet --now guestbook
	if [ -n "$related" ]; then
		status-set waiting "for the database to admit this unit"
	else
		status-set blocked "no relation to a database"
	fi
}
