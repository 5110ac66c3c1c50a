// Package remoterelations makes a model's relations with services of other models like their counterparts there: whether
// they exist, who is in them, and with which settings.
package remoterelations
