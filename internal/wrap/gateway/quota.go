package gateway

// quota shares a limited amount among the principals. Each has a reserved part that no other can
// use; the rest is given out in order of arrival.
type quota struct {
	limit int
	part  int // reserved for each principal
	used  int
	kept  int // the unused reserved parts of all principals
	by    map[principal]int
	known map[principal]bool // those with a reserved part
	open  bool               // the principals are not known in advance, so nothing is reserved by name
}

// newOpenQuota returns a quota for any number of principals. Those with more than a share leave one
// for those with less.
func newOpenQuota(limit int) quota {
	return quota{limit: limit, open: true, by: map[principal]int{}}
}

// newQuota reserves half of limit in equal parts, at least one unit each if there are enough.
func newQuota(limit int, all []principal) quota {
	q := quota{limit: limit, by: map[principal]int{}}
	q.reserve(all)
	return q
}

// reserve reserves a part for each of these principals, and for no other. What each has stays.
func (q *quota) reserve(all []principal) {
	if q.open {
		return
	}
	q.known = map[principal]bool{}
	for _, who := range all {
		q.known[who] = true
	}
	if len(all) == 0 {
		q.known[principal{}] = true
	}
	q.part = q.limit / (2 * len(q.known))
	if q.part == 0 && len(q.known) <= q.limit {
		q.part = 1
	}
	q.kept = 0
	for who := range q.known {
		q.kept += q.unused(who)
	}
}

// allows reports whether who may have n more.
func (q *quota) allows(who principal, n int) bool {
	if q.open && q.by[who]+n <= q.share() {
		return q.used+n <= q.limit
	}
	if q.open {
		return q.used+n <= q.limit-q.share()
	}
	return q.used+n+q.kept-q.unused(who) <= q.limit
}

// yields reports whether who may take what other has: its own, and what others have beyond their share.
func (q *quota) yields(other, who principal) bool { return other == who || q.by[other] > q.share() }

// share returns what a principal may have without giving way to others: at most a quarter if the
// principals are not known in advance, and less the more there are.
func (q *quota) share() int {
	if q.open {
		return q.limit / max(4, len(q.by)+1)
	}
	return q.part
}

// add gives n more to who, or takes -n back.
func (q *quota) add(who principal, n int) {
	before := q.unused(who)
	q.used += n
	if q.by[who] += n; q.by[who] == 0 {
		delete(q.by, who)
	}
	q.kept += q.unused(who) - before
}

// unused returns what is left of the part reserved for who.
func (q *quota) unused(who principal) int {
	if !q.known[who] {
		return 0
	}
	return max(0, q.part-q.by[who])
}
