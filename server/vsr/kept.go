package vsr

// keptOps are frames held in memory because they do not connect to the head yet: at most a pipeline
// of them, never on disk. What is kept was sent by the primary of this view, or was asked for by
// checksum; all of it is dropped when the view changes.
type keptOps struct {
	headers []Header // by op modulo the pipeline; Op 0 is empty
	count   int
}

func (k *keptOps) find(id ID) *Header {
	if k.count == 0 {
		return nil
	}
	if h := &k.headers[id.Op%uint64(len(k.headers))]; h.Op == id.Op && h.Sum == id.Sum {
		return h
	}
	return nil
}

// lowest op kept, or 0.
func (k *keptOps) lowest() uint64 {
	low := uint64(0)
	for i := range k.headers {
		if op := k.headers[i].Op; op > 0 && (low == 0 || op < low) {
			low = op
		}
	}
	return low
}

// keep holds this input's frame, which lies beyond head and within a pipeline of it.
func (r *Replica) keep(h *Header) {
	k, head := &r.kept, r.log.head.Op
	if h.Op <= head || h.Op-head > r.cfg.PipelineOps {
		return
	}
	if k.headers == nil {
		k.headers = make([]Header, r.cfg.PipelineOps)
	}
	slot := &k.headers[h.Op%uint64(len(k.headers))]
	if slot.Op == h.Op && slot.Sum == h.Sum {
		return
	}
	if slot.Op != 0 {
		r.emit(Effect{Kind: EffDrop, ID: slot.ID()})
		k.count--
	}
	*slot = *h
	k.count++
	r.emit(Effect{Kind: EffKeep, Header: *h})
}

// absorbKept appends what connects to the head by now.
func (r *Replica) absorbKept() {
	k := &r.kept
	for k.count > 0 {
		slot := &k.headers[(r.log.head.Op+1)%uint64(len(k.headers))]
		if slot.Op != r.log.head.Op+1 || (r.adopt.active && !r.adoptWants(slot)) {
			return
		}
		if !r.log.fits(slot) {
			r.dropSlot(slot)
			return
		}
		h := *slot
		slot.Op = 0
		k.count--
		r.append(&h, 0)
	}
}

func (r *Replica) adoptWants(h *Header) bool {
	id, ok := r.adopt.want(h.Op)
	return r.adopt.aligned && ok && id == h.ID()
}

func (r *Replica) dropSlot(slot *Header) {
	r.emit(Effect{Kind: EffDrop, ID: slot.ID()})
	slot.Op = 0
	r.kept.count--
}

func (r *Replica) dropKept() { r.dropKeptAbove(0) }

func (r *Replica) dropKeptAbove(op uint64) {
	for i := range r.kept.headers {
		if r.kept.headers[i].Op > op {
			r.dropSlot(&r.kept.headers[i])
		}
	}
}

// dropKeptBelow forgets frames that the head has passed.
func (r *Replica) dropKeptBelow() {
	for i := range r.kept.headers {
		if op := r.kept.headers[i].Op; op > 0 && op <= r.log.head.Op {
			r.dropSlot(&r.kept.headers[i])
		}
	}
}
