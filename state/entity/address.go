package entity

import "net/netip"

// HostSubnet returns the subnet that contains only this address, such as 10.0.0.7/32; "" for a host
// name.
func HostSubnet(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	return netip.PrefixFrom(ip, ip.BitLen()).String()
}
