package entity

// A Finding is one inconsistency in the store.
type Finding struct {
	Model  string // the model's name; "" for the controller's own records
	Where  string // the record: its collection and id, "counts s#mysql"
	What   string
	Repair string // what a repair does; "" if it can't be repaired
	Done   bool   // the repair succeeded
	Failed string // why the repair failed
}
