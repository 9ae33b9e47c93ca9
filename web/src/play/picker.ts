import type { Micros } from "../media/frame.ts";

/** A decoded picture that waits to be shown. */
export interface Picture {
	pts: Micros;
	group: number;
	close(): void;
}

/** How much older than the smaller rendition's picture the better one's may be. */
const MAX_STALE: Micros = 80_000;
/** Most pictures of one rendition that wait; decoders have few to give. */
export const MAX_PICTURES = 8;

/**
 * Chooses the picture to show from those of up to two renditions of the same content: the better one while it keeps
 * up, else the smaller one until the better has a new group.
 */
export class Picker<P extends Picture> {
	readonly #small: P[] = [];
	readonly #better: P[] = [];
	#using: "small" | "better" = "small";
	/** The better rendition is not shown before a group above this one. */
	#blocked = -1;
	#shown: Micros | undefined;
	/** The group of the better rendition that was shown last. */
	#betterGroup = -1;

	/** Adds a picture; pictures of one rendition come in order of time. */
	add(which: "small" | "better", p: P): void {
		const list = which === "small" ? this.#small : this.#better;
		// Decoders hand out few pictures; the oldest goes rather than that the decoder stands still.
		if (list.length >= MAX_PICTURES) list.shift()?.close();
		list.push(p);
	}

	waiting(which: "small" | "better"): number {
		return (which === "small" ? this.#small : this.#better).length;
	}

	get using(): "small" | "better" {
		return this.#using;
	}

	/** The better rendition's group was given up. */
	block(group: number): void {
		this.#blocked = Math.max(this.#blocked, group);
		for (const p of this.#better.splice(0)) {
			if (p.group > group) this.#better.push(p);
			else p.close();
		}
	}

	/** Everything is thrown away, as when renditions are chosen anew. */
	clear(which?: "small" | "better"): void {
		if (which !== "better") for (const p of this.#small.splice(0)) p.close();
		if (which !== "small") for (const p of this.#better.splice(0)) p.close();
		if (which !== "small") this.#blocked = this.#betterGroup = -1;
		if (which === undefined) this.#shown = undefined;
		if (which !== "small" && this.#using === "better") this.#using = "small";
	}

	/** The timeline has begun anew: what was shown says nothing about what comes. */
	restart(): void {
		this.#shown = undefined;
		this.#blocked = -1;
		this.#betterGroup = -1;
	}

	/** The picture for the media time t, if it is another than the one shown; the caller closes it. */
	pick(t: Micros): P | undefined {
		const small = newest(this.#small, t);
		const better = newest(this.#better, t);
		const chosen = this.#choose(small, better);
		for (const [list, p] of [
			[this.#small, small],
			[this.#better, better],
		] as const) {
			if (!p) continue;
			// The newest one that is due stays as long as the other rendition is shown, and nothing newer comes.
			const keep = p !== chosen && p.pts > (this.#shown ?? Number.NEGATIVE_INFINITY);
			const upTo = list.indexOf(p) + (keep ? 0 : 1);
			for (const old of list.splice(0, upTo)) if (old !== chosen) old.close();
		}
		return chosen;
	}

	#choose(small: P | undefined, better: P | undefined): P | undefined {
		const shown = this.#shown ?? Number.NEGATIVE_INFINITY;
		const usable = better && better.group > this.#blocked ? better : undefined;
		if (this.#using === "better") {
			if (usable && usable.pts > shown) return this.#showBetter(usable);
			if (!small || small.pts < shown + MAX_STALE) return undefined;
			this.#using = "small";
			this.#blocked = Math.max(this.#blocked, this.#betterGroup);
			return this.#show(small);
		}
		if (usable && usable.pts >= Math.max(small?.pts ?? shown, shown) && usable.pts > shown) {
			this.#using = "better";
			return this.#showBetter(usable);
		}
		return small && small.pts > shown ? this.#show(small) : undefined;
	}

	#showBetter(p: P): P {
		this.#betterGroup = p.group;
		return this.#show(p);
	}

	#show(p: P): P {
		this.#shown = p.pts;
		return p;
	}
}

function newest<P extends Picture>(list: P[], t: Micros): P | undefined {
	let found: P | undefined;
	for (const p of list) if (p.pts <= t) found = p;
	return found;
}
