# Moves the store of the controller in $dir to the MongoDB whose URL is in $dir/migrate.url or, if that is empty, to the
# embedded store. Writes errors to $dir/migrate.log. The controller starts again in any case.
set -eu
umask 077
exec >"$dir/migrate.log" 2>&1
trap 'rm -f "$dir/migrate.url"; systemctl start --no-block jujud-controller' EXIT
systemctl stop jujud-controller
"$dir/tools/controller/jujud" migrate-store --dir "$dir" <"$dir/migrate.url"
