// Package firewaller applies the firewall rules of one model to its cloud. An instance accepts outside
// traffic only on ports that its units have opened and whose services are exposed, and only from the networks that they
// are exposed to. In the mode "global" every
// instance accepts traffic on the ports of all; in the mode "none" the firewall is not touched.
//
// The worker stores no rules. At startup and periodically it compares the cloud's rules with those the model
// requires, and corrects the difference.
package firewaller
