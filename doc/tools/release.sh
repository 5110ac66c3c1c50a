#!/bin/sh
# Builds a release into dist/: static binaries for Linux, and their checksums. The same commit gives the same bytes, wherever
# and whenever it is built with the same Go (doc/release_test.go); other settings of the toolchain would give others. ARCHS and
# CMDS build a part of it.
set -eu
version=$(sed -n 's/^var Version = "\(.*\)"/\1/p' agent/config.go)
rm -rf dist && mkdir -p dist
for arch in ${ARCHS:-amd64 arm64}; do
	name=juju-$version-linux-$arch
	mkdir "dist/$name"
	for c in $CMDS; do
		echo "$name/$c"
		GOOS=linux GOARCH=$arch GOAMD64=v1 GOARM64=v8.0 GOFLAGS=-trimpath GOEXPERIMENT='' $GO build -buildvcs=false \
			-ldflags "-s -w -buildid= -X juju/agent.commit=$COMMIT -X juju/agent.Version=$version" -o "dist/$name/$c" "./cmd/$c"
	done
	tar -C dist --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0755 -cf "dist/$name.tar" "$name"
	gzip -9n "dist/$name.tar"
done
cd dist && sha256sum ./*.tar.gz >SHA256SUMS && cat SHA256SUMS
