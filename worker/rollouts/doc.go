// Package rollouts upgrades services in batches, as users have asked for: for each rollout that goes on it has state take
// the next step whenever that may be due. It stores nothing, so another controller continues where it was.
package rollouts
