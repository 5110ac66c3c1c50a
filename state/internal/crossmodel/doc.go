// Package crossmodel reads what a model shares with others: the relations with services of other models, who is in them,
// and how an offered service is.
package crossmodel
