// Package pipeline implements MongoDB's aggregations on documents as bytes: the stages $match, $project, $group, $sort,
// $skip, $limit, $unwind and $count, and the expressions and accumulators that they contain.
//
//	p, err := pipeline.Compile(stages, true)
//	next := p.Run(source, pipeline.Control{Check: check, Keep: keep})
//
// The stages at the beginning that a query can do are available as p.Head, so that the caller selects the documents of
// the source with indexes; the others transform these documents, one at a time. $sort and $group hold documents in
// memory, up to query.MaxMemory bytes each. Any other stage, expression or accumulator
// is refused by its name.
package pipeline
