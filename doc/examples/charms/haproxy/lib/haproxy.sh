# Functions shared by this charm's hooks; source it.

conf=/etc/haproxy/haproxy.cfg

# servers: prints a server line for each unit that has published its address.
servers() {
	for relation in $(relation-ids reverseproxy); do
		for unit in $(relation-list -r "$relation"); do
			# Either setting may still be missing.
			hostname=$(relation-get -r "$relation" hostname "$unit") || continue
			port=$(relation-get -r "$relation" port "$unit") || continue
			[ -n "$hostname" ] && [ -n "$port" ] || continue
			echo "    server $(echo "$unit" | tr / -) $hostname:$port check inter 1s"
		done
	done
}

# configuration PORT SERVERS: prints haproxy.cfg.
configuration() {
	cat <<-END
		# Written by juju. Do not edit.
		global
		    user haproxy
		    group haproxy

		defaults
		    mode http
		    timeout connect 2s
		    timeout client 30s
		    timeout server 30s

		listen site
		    bind *:$1
		    option httpchk HEAD /
		    option redispatch 1
		$2
	END
}

# open_only PORT: opens the port and closes all others.
open_only() {
	for old in $(opened-ports); do
		[ "$old" = "$1/tcp" ] || close-port "$old"
	done
	open-port "$1/tcp"
}

# apply: runs haproxy as the configuration and the relations require.
apply() {
	port=$(config-get port)
	if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
		status-set blocked "port must be between 1 and 65535, not $port"
		return
	fi
	servers=$(servers)
	configuration "$port" "$servers" >"$conf.new"
	haproxy -c -q -f "$conf.new"
	mv "$conf.new" "$conf"
	systemctl enable --quiet --now haproxy
	systemctl reload haproxy
	open_only "$port"
	if [ -n "$servers" ]; then
		status-set active "at http://$(unit-get private-address):$port/, units: $(echo "$servers" | wc -l)"
	else
		status-set waiting "for units to forward requests to"
	fi
}
