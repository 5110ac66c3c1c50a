#!/bin/sh
# Writes the generated code anew, then each page, or part of a page, by the test that compares it.
set -eu
$GO generate ./...
write() { $GO test -vet=off -count=1 "./$1" -run "^($2)\$" -update; }
write cmd/juju 'TestReference|TestAbsentInJSON'
write state/lifecycle TestDocumentIsUpToDate
write hooks/hooktools TestReference
write apiserver 'TestSecurityPage|TestAPIPage'
write hooks TestGuide
write charm TestComingFromJuju
write cmd/juju/commands TestComingFromJuju
write charm/journaltest TestGuide
write agent/controller/metrics TestMetricsPage
write provider/providertest TestProvidersPage
write doc 'TestFindings|TestContract'
