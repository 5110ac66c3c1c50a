// Package logs stores agents' logs in files, for debug-log.
//
// Each model has a directory of numbered segments with one JSON message per line. When a new segment is started the
// oldest is deleted, so a model never exceeds its share of the disk. Nothing passes through the database, and a crash
// loses only the last lines. Each agent may fill only a part of the share in a given time; see rate.go.
//
// Readers read the files at their own pace; writers only wake them. A slow reader blocks no one and uses no memory. A
// reader that falls behind by more than the share skips segments, and is told how many.
package logs
