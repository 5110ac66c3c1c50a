# Functions that the hooks of this charm share; source it.

conf=/etc/guestbook.conf

# The relation that is leaving; set by the hook that knows.
leaving_relation=

# get SETTING: prints what the $unit in the $relation has set.
get() { relation-get -r "$relation" "$1" "$unit"; }

# find_database: sets $host, $db_port, $database, $user and $password to those of a database
# that lets this unit in, or returns an error; and sets $related if there is a relation at all.
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

# quote TEXT: prints the text as a value of systemd's EnvironmentFile, in which line breaks
# have become spaces.
quote() { printf '"%s"' "$(printf %s "$1" | tr '\n' ' ' | sed 's/[\\"`$]/\\&/g')"; }

# environment PORT: prints what the program gets.
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

# run_page: makes the program run with this environment. It is stopped before its
# environment changes, so that a hook that fails in between leaves nothing that looks right.
run_page() {
	environment "$port" | (umask 077 && cat >"$conf.new")
	cmp -s "$conf.new" "$conf" || systemctl stop guestbook
	mv "$conf.new" "$conf"
	systemctl enable --quiet --now guestbook
}

# open_only PORT: opens the port and no other.
open_only() {
	for old in $(opened-ports); do
		[ "$old" = "$1/tcp" ] || close-port "$old"
	done
	open-port "$1/tcp"
}

# tell_others: tells all proxies where the page is, and all databases where connections come
# from. Juju writes the private-address when the unit joins; if its machine is lost and
# replaced, the unit stays a member with another address.
tell_others() {
	for relation in $(relation-ids website); do
		relation-set -r "$relation" hostname="$address" port="$port"
	done
	for relation in $(relation-ids db); do
		[ "$relation" != "$leaving_relation" ] || continue
		relation-set -r "$relation" private-address="$address"
	done
}

# apply: makes the page run as the settings and the relations require.
apply() {
	port=$(config-get port)
	if [ "$port" -lt 1024 ] || [ "$port" -gt 65535 ]; then
		status-set blocked "port has to be between 1024 and 65535, not $port"
		return
	fi
	address=$(unit-get private-address)
	open_only "$port"
	tell_others
	if find_database; then
		run_page
		status-set active "at http://$address:$port/"
		return
	fi
	systemctl disable --quiet --now guestbook
	if [ -n "$related" ]; then
		status-set waiting "for the database to let this unit in"
	else
		status-set blocked "relate it to a database"
	fi
}
