package params

// An AnnotationsSet is what Annotations 2 Set takes.
type AnnotationsSet struct {
	Annotations []EntityAnnotations `json:"annotations"`
}

// An EntityAnnotations is values to lay over what is noted about one entity; an
// empty one deletes its key.
type EntityAnnotations struct {
	Entity      Tag               `json:"entity"`
	Annotations map[string]string `json:"annotations" limit:"file"` // state bounds them all together
}

// An AnnotationsGetResults is what Get returns, in the order of what was asked.
type AnnotationsGetResults struct {
	Results []AnnotationsGetResult `json:"results"`
}

// An AnnotationsGetResult is what is noted about one entity, or why that can't be
// told.
type AnnotationsGetResult struct {
	Entity      Tag               `json:"entity"`
	Annotations map[string]string `json:"annotations"`
	Error       ErrorResult       `json:"error"`
}
