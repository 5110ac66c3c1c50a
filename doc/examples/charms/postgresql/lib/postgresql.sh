# Functions shared by this charm's hooks; source it.

# Debian 12 has PostgreSQL 15. Its package creates the cluster "main".
settings=/etc/postgresql/15/main
service=postgresql@15-main
port=5432

# name_of SERVICE: prints the name of the service's database and user. The prefix keeps a
# service called postgres from being the superuser.
name_of() { echo "juju_$1" | tr - _; }

# access_rules: prints pg_hba.conf, with a line for each unit that may connect.
access_rules() {
	echo "# Written by juju. Do not edit."
	echo "local all all peer"
	for relation in $(relation-ids db); do
		for unit in $(relation-list -r "$relation"); do
			address=$(relation-get -r "$relation" private-address "$unit") || continue
			[ -n "$address" ] || continue
			name=$(name_of "${unit%/*}")
			echo "host $name $name $address/32 scram-sha-256"
		done
	done
}

# server_settings MAX_CONNECTIONS: prints the settings that the charm manages.
server_settings() {
	echo "# Written by juju. Do not edit."
	echo "port = $port"
	echo "listen_addresses = '*'"
	echo "max_connections = $1"
}

# replace FILE: atomically replaces the file with its input.
replace() {
	cat >"$1.new"
	chmod 644 "$1.new"
	mv "$1.new" "$1"
}

# sql: runs the statements on its input as PostgreSQL's superuser. As arguments, they would
# show passwords to every user of the machine.
sql() {
	(cd / && runuser -u postgres -- psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1)
}

# run_server: runs the server as configured and admits the current clients. It asks the server
# for its settings, because an earlier hook may have failed between writing them and restarting
# the server.
run_server() {
	max_connections=$(config-get max-connections)
	server_settings "$max_connections" | replace "$settings/conf.d/juju.conf"
	access_rules | replace "$settings/pg_hba.conf"
	systemctl enable --quiet --now "$service"
	systemctl reload "$service"
	current=$(echo "SELECT current_setting('listen_addresses'), current_setting('max_connections');" | sql)
	[ "$current" = "*|$max_connections" ] || systemctl restart "$service"
}

# ensure_database NAME PASSWORD: creates the database and its user if they don't exist, and
# sets the user's password.
ensure_database() {
	[ -n "$(echo "SELECT 1 FROM pg_roles WHERE rolname = '$1';" | sql)" ] || echo "CREATE ROLE $1 LOGIN;" | sql
	[ -n "$(echo "SELECT 1 FROM pg_database WHERE datname = '$1';" | sql)" ] ||
		echo "CREATE DATABASE $1 OWNER $1;" | sql
	echo "ALTER ROLE $1 PASSWORD '$2';" | sql
}

# update_client RELATION: ensures that the related service has a database, and publishes how to
# connect to it. The password stays the same for the lifetime of the relation.
update_client() {
	units=$(relation-list -r "$1" | xargs)
	[ -n "$units" ] || return 0
	name=$(name_of "${units%%/*}")
	password=$(relation-get -r "$1" password "$JUJU_UNIT_NAME")
	if [ -z "$password" ]; then
		password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
		ensure_database "$name" "$password"
	fi
	relation-set -r "$1" host="$address" port="$port" database="$name" user="$name" password="$password" \
		allowed-units="$units"
}

# update_clients: updates all clients and the status.
update_clients() {
	address=$(unit-get private-address)
	clients=0
	for relation in $(relation-ids db); do
		update_client "$relation"
		clients=$((clients + $(relation-list -r "$relation" | wc -w)))
	done
	status-set active "at $address:$port, clients: $clients"
}
