package task

// PlanDocument returns a plan as the task file that validates it.
func PlanDocument(p Plan) ([]byte, error) {
	text, _, err := p.document(nil)
	return text, err
}
