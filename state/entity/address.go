package entity

import "net/netip"

// HostSubnet returns the subnet that has just this address, such as 10.0.0.7/32; "" if it is the name of
// a host.
func HostSubnet(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	return netip.PrefixFrom(ip, ip.BitLen()).String()
}
