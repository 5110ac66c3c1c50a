package entity

// A Finding is one thing that is wrong with what is stored.
type Finding struct {
	Model  string // its name; "" for the controller's own records
	Where  string // the record: its collection and id, "counts s#mysql"
	What   string
	Repair string // what a repair does about it; "" when it can do nothing
	Done   bool   // the repair has done so
	Failed string // why it could not
}
