package params

// An AnnotationsSet is the parameter of Annotations 2 Set.
type AnnotationsSet struct {
	Annotations []EntityAnnotations `json:"annotations"`
}

// An EntityAnnotations has the values to merge into an entity's annotations. An empty value deletes its key.
type EntityAnnotations struct {
	Entity      Tag               `json:"entity"`
	Annotations map[string]string `json:"annotations" limit:"file"` // state limits their total
}

// An AnnotationsGetResults is the result of Get, in the order of the request.
type AnnotationsGetResults struct {
	Results []AnnotationsGetResult `json:"results"`
}

// An AnnotationsGetResult is the annotations of one entity, or an error.
type AnnotationsGetResult struct {
	Entity      Tag               `json:"entity"`
	Annotations map[string]string `json:"annotations"`
	Error       ErrorResult       `json:"error"`
}
