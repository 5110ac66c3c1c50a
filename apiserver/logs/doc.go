// Package logs keeps what agents log, in files, for debug-log to show.
//
// Each model has a directory of numbered segments with a message of JSON on
// each line. The oldest segment goes when a new one begins, so a model never
// holds more than its share of the disk; nothing here passes through the
// database, and losing the last lines in a crash loses nothing else. Of that share an
// agent may fill only so much in a time; see rate.go.
//
// Readers read the files at their own pace and are only woken by writers: a
// slow one holds up nobody and costs no memory. One that falls behind by more
// than a model's share is told how far it was moved on.
package logs
