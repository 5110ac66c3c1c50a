# Functions that the hooks of this charm share; source it.

# Debian 12 has PostgreSQL 15, and its package makes the cluster "main".
settings=/etc/postgresql/15/main
service=postgresql@15-main
port=5432

# name_of SERVICE: prints the name of the service's database and of its user. With the
# prefix, a service called postgres is not the superuser.
name_of() { echo "juju_$1" | tr - _; }

# access_rules: prints pg_hba.conf, with a line for each unit that may connect.
access_rules() {
	echo "# Written by juju whenever clients come or go."
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

# server_settings MAX_CONNECTIONS: prints the settings that the charm determines.
server_settings() {
	echo "# Written by juju when its settings change."
	echo "port = $port"
	echo "listen_addresses = '*'"
	echo "max_connections = $1"
}

# replace FILE: writes its input to the file, which never has half of it.
replace() {
	cat >"$1.new"
	chmod 644 "$1.new"
	mv "$1.new" "$1"
}

# sql: runs the statements that it reads, as PostgreSQL's superuser. On the command line,
# they would show passwords to every user of the machine.
sql() {
	(cd / && runuser -u postgres -- psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1)
}

# run_server: makes the server run as configured, and let in the clients that there are. A
# hook may have failed between writing a setting and restarting the server, so this asks the
# server what it has.
run_server() {
	max_connections=$(config-get max-connections)
	server_settings "$max_connections" | replace "$settings/conf.d/juju.conf"
	access_rules | replace "$settings/pg_hba.conf"
	systemctl enable --quiet --now "$service"
	systemctl reload "$service"
	has=$(echo "SELECT current_setting('listen_addresses'), current_setting('max_connections');" | sql)
	[ "$has" = "*|$max_connections" ] || systemctl restart "$service"
}

# make_database NAME PASSWORD: makes the database and its user, unless they are there, and
# sets the user's password.
make_database() {
	[ -n "$(echo "SELECT 1 FROM pg_roles WHERE rolname = '$1';" | sql)" ] || echo "CREATE ROLE $1 LOGIN;" | sql
	[ -n "$(echo "SELECT 1 FROM pg_database WHERE datname = '$1';" | sql)" ] ||
		echo "CREATE DATABASE $1 OWNER $1;" | sql
	echo "ALTER ROLE $1 PASSWORD '$2';" | sql
}

# tell RELATION: makes the database of the service at the other end, and tells its units how
# to reach it. The password stays the same as long as the relation lasts.
tell() {
	units=$(relation-list -r "$1" | xargs)
	[ -n "$units" ] || return 0
	name=$(name_of "${units%%/*}")
	password=$(relation-get -r "$1" password "$JUJU_UNIT_NAME")
	if [ -z "$password" ]; then
		password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
		make_database "$name" "$password"
	fi
	relation-set -r "$1" host="$address" port="$port" database="$name" user="$name" password="$password" \
		allowed-units="$units"
}

# tell_clients: tells all clients, and sets the status.
tell_clients() {
	address=$(unit-get private-address)
	clients=0
	for relation in $(relation-ids db); do
		tell "$relation"
		clients=$((clients + $(relation-list -r "$relation" | wc -w)))
	done
	status-set active "at $address:$port, clients: $clients"
}
