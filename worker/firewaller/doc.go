// Package firewaller gives a cloud's firewall the rules of one model: an instance is reached from
// outside at the ports that its units have opened whose services are exposed, and at no others. In
// the mode "global" all instances are reached at the ports of all; in the mode "none" the cloud is
// left alone.
//
// The worker keeps no rules. When it starts, and from time to time, it compares what the cloud has
// with what the model asks for, and mends the difference.
package firewaller
