package entity

// A Finding is one thing that is wrong in the store.
type Finding struct {
	Model  string // the model's name; "" for the controller's own records
	Where  string // the record: its collection and id, "counts s#mysql"
	What   string
	Repair string // what a repair does; "" if it can do nothing
	Done   bool   // the repair was made
	Failed string // why the repair failed
}
