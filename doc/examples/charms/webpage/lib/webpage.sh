# Functions shared by this charm's hooks; source it.
program=webpage
. "$CHARM_DIR/lib/service.sh"

# The unit or relation that is being removed and must not be used; set by
# store-relation-departed and store-relation-broken.
leaving_unit=
leaving_relation=

# find_store: sets $store to the HOST:PORT of a store, or to nothing if none has published its
# address yet. Sets $related if there is any relation.
find_store() {
	store= related=
	for relation in $(relation-ids store); do
		[ "$relation" != "$leaving_relation" ] || continue
		related=yes
		for unit in $(relation-list -r "$relation"); do
			[ "$unit" != "$leaving_unit" ] || continue
			# Either setting may still be missing.
			hostname=$(relation-get -r "$relation" hostname "$unit") || continue
			port=$(relation-get -r "$relation" port "$unit") || continue
			if [ -n "$hostname" ] && [ -n "$port" ]; then
				store=$hostname:$port
				return
			fi
		done
	done
}

# apply: runs the page as the configuration and the relations require.
apply() {
	[ -e "$service/started" ] || return 0
	find_store
	read_address || return 0
	# The count belongs to the service: "visits:web" for the unit web/0.
	run_program serve --listen "$host:$port" --title "$(config-get title)" \
		--unit "$JUJU_UNIT_NAME" --store "$store" --key "visits:${JUJU_UNIT_NAME%/*}"
	if [ -n "$store" ]; then
		status-set active "at http://$host:$port/, counting visits in $store"
	elif [ -n "$related" ]; then
		status-set waiting "at http://$host:$port/; the store has not published its address"
	else
		status-set blocked "at http://$host:$port/; no relation to a store"
	fi
	open_page_port "$port"
}

# open_page_port PORT: opens the port and closes the previous one. Call it last: juju discards
# ports opened by a failing hook.
open_page_port() {
	old=$(cat "$service/port" 2>/dev/null) || old=
	if [ -n "$old" ] && [ "$old" != "$1" ]; then
		close-port "$old/tcp"
	fi
	open-port "$1/tcp"
	echo "$1" >"$service/port"
}
