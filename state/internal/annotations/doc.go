// Package annotations stores the key-value pairs that users and their tools attach to the entities of a model.
package annotations
