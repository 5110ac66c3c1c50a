// Package arith adds, subtracts and multiplies BSON's four types of numbers, as updates and aggregations do. The result
// has the wider of the two types; 32-bit integers become 64-bit ones where they overflow.
package arith
