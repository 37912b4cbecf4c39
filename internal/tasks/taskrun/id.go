package taskrun

// NewID returns an id for a task that is kept elsewhere, or that is started later. It says which task
// it is.
func NewID(name string) string { return newID(name) }
