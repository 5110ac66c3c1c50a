// Package logs keeps what agents log, in files, for debug-log to show.
//
// Each model has a directory of numbered segments with one JSON message per line. When a new
// segment begins the oldest is deleted, so a model never uses more than its share of the
// disk. Nothing passes through the database, and a crash loses only the last lines. Each
// agent may fill only a part of the share in a given time; see rate.go.
//
// Readers read the files at their own pace; writers only wake them up. A slow reader holds up
// no one and costs no memory. One that falls behind by more than the share skips segments, and
// learns how many.
package logs
