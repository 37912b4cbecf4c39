package wire

// Edit puts another value where Old stands.
type Edit struct{ Old, New []byte }

// Replace appends whole with each edit made, every other byte as it was. Each
// Old is a slice of whole, as Scan and Field return them, and they come in the
// order in which they stand there or in any other; they do not overlap.
func Replace(dst, whole []byte, edits ...Edit) []byte {
	from := 0
	for range edits {
		// The next one behind what is written: there are two or three.
		var next *Edit
		at := len(whole) + 1
		for i := range edits {
			if start := cap(whole) - cap(edits[i].Old); start >= from && start < at {
				next, at = &edits[i], start
			}
		}
		if next == nil {
			break
		}
		dst = append(append(dst, whole[from:at]...), next.New...)
		from = at + len(next.Old)
	}
	return append(dst, whole[from:]...)
}
