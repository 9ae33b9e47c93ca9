import type { Catalog } from "../media/catalog.ts";
import { MediaError, type Millis } from "../media/frame.ts";
import { HANG_TRACK, parseHang } from "../media/hang.ts";
import { MSF_TRACK, MsfCatalog } from "../media/msf.ts";
import { RequestFailed } from "../moqt/errors.ts";
import type { Session } from "../moqt/session.ts";
import type { IncomingSubgroup, Subscription } from "../moqt/subscription.ts";
import { RequestCode } from "../wire/codes.ts";
import { ProtocolError } from "../wire/errors.ts";
import { type Namespace, parseNamespace } from "../wire/namespace.ts";
import { dial } from "./dial.ts";
import type { FromWorker, Quality, SoundClock, Source, State } from "./messages.ts";
import { PlayerError, type Problem, problem, problemOf } from "./problem.ts";
import { sendReports } from "./reporter.ts";
import { Stage } from "./stage.ts";

/** Waiting before the next try to connect: doubled each time. */
const RETRY_MIN: Millis = 250;
const RETRY_MAX: Millis = 5000;
/** A session that has lasted this long makes the next try quick again. */
const GOOD_SESSION: Millis = 10_000;
/** Nothing came for so long although it should: the connection is given up. */
const SILENCE: Millis = 4000;
/** How often a broadcast that is not there is asked for again, beside being told. */
const ASK_AGAIN: Millis = 2000;

/**
 * Keeps a connection to the relay, follows the catalog, and puts the tracks on the stage. One source at a time; load
 * changes it.
 */
export class Engine {
	readonly #out: (m: FromWorker) => void;
	readonly stage: Stage;
	#abort = new AbortController();
	#source: Source | undefined;
	#state: State = "idle";
	#problem: Problem | undefined;
	#paused = false;
	#reconnects = 0;
	#wakeUp: (() => void) | undefined;

	constructor(canvas: OffscreenCanvas, sound: MessagePort, out: (m: FromWorker) => void) {
		this.#out = out;
		this.stage = new Stage(canvas, sound, {
			playing: () => this.#set("playing", this.stage.trouble),
			stalled: () => {
				if (this.#state === "playing") this.#set("stalled");
			},
			size: (width, height) => out({ type: "size", width, height }),
			frame: (frame) => out({ type: "frame", frame }),
		});
		setInterval(() => this.#summarise(), 500);
	}

	load(source: Source | undefined): void {
		this.#abort.abort();
		this.#abort = new AbortController();
		this.#source = source;
		this.#reconnects = 0;
		this.stage.clear(true);
		if (!source) {
			this.#set("idle");
			return;
		}
		void this.#run(source, this.#abort.signal);
	}

	set paused(paused: boolean) {
		if (this.#paused === paused) return;
		this.#paused = paused;
		// Leaving and joining again is what a relay is made for; nothing is received meanwhile.
		if (this.#source) this.load(this.#source);
	}

	set quality(q: Quality) {
		this.stage.quality = q;
	}

	set soundClock(c: SoundClock | undefined) {
		this.stage.soundClock = c;
	}

	#set(state: State, p?: Problem): void {
		if (this.#paused && state === "playing") return;
		if (state === this.#state && p?.code === this.#problem?.code && p?.detail === this.#problem?.detail) return;
		this.#state = state;
		this.#problem = p;
		this.#out({ type: "state", state, problem: p });
	}

	async #run(source: Source, signal: AbortSignal): Promise<void> {
		if (this.#paused) {
			this.#set("paused");
			return;
		}
		this.#set("connecting");
		let namespace: Namespace;
		try {
			namespace = parseNamespace(source.namespace);
		} catch (err) {
			this.#set("failed", problem("no-broadcast", err instanceof Error ? err.message : String(err)));
			return;
		}
		this.stage.began = performance.now();
		let wait = RETRY_MIN;
		while (!signal.aborted) {
			const at = performance.now();
			let session: Session | undefined;
			try {
				let moving = false;
				session = await dial(
					source,
					{
						onGoAway: () => {
							moving = true;
							this.#wakeUp?.();
						},
					},
					signal,
				);
				if (source.report) void sendReports(session, this.stage.log, () => this.stage.countLosses());
				await this.#broadcast(session, namespace, signal, () => moving);
				session.close();
				wait = RETRY_MIN;
				continue;
			} catch (err) {
				session?.close();
				if (signal.aborted) return;
				const p = problemOf(err);
				if (!p.retrying) {
					this.stage.clear(true);
					this.#set("failed", p);
					return;
				}
				if (performance.now() - at > GOOD_SESSION) wait = RETRY_MIN;
				this.stage.clear(false);
				this.#set("connecting", p);
			}
			this.#reconnects++;
			await sleep(wait * (0.75 + Math.random() / 2), signal);
			wait = Math.min(RETRY_MAX, 2 * wait);
		}
	}

	/** Plays the broadcast over a session until the session is over or asks to be left. */
	async #broadcast(session: Session, namespace: Namespace, signal: AbortSignal, moving: () => boolean): Promise<void> {
		let announced: boolean | undefined;
		let changed!: () => void;
		let change = new Promise<void>((resolve) => {
			changed = resolve;
		});
		const notice = () => {
			const resolve = changed;
			change = new Promise((r) => {
				changed = r;
			});
			resolve();
		};
		this.#wakeUp = notice;
		const presence = session.subscribeNamespace(namespace, {
			added: (suffix) => {
				if (suffix.length > 0) return;
				announced = true;
				notice();
			},
			removed: (suffix) => {
				if (suffix.length > 0) return;
				announced = false;
				notice();
			},
		});
		const over = session.closed.then((reason) => {
			throw reason;
		});
		over.catch(() => undefined);
		const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
		let gone = false;
		try {
			while (!signal.aborted && !moving()) {
				const watcher = new AbortController();
				const playing = this.#play(session, namespace, gone, watcher.signal);
				const ended = playing.then(
					() => undefined,
					(err) => err,
				);
				// The end of the announcement also ends the broadcast: its publisher has gone.
				let reason: unknown;
				for (;;) {
					const before = announced;
					const what = await Promise.race([
						ended.then((err) => ({ err })),
						change.then(() => undefined),
						aborted.then(() => ({ err: undefined })),
						over,
					]);
					if (what) {
						reason = what.err;
						break;
					}
					if (moving()) break;
					if (before && !announced) {
						reason = new PlayerError("publisher-gone", "The publisher has left; playing goes on when it is back.");
						break;
					}
				}
				watcher.abort();
				this.stage.leave();
				if (signal.aborted || moving()) return;
				const p = problemOf(reason);
				if (!p.retrying) throw reason;
				if (p.code === "connection-lost") throw reason;
				gone = gone || this.stage.everShown;
				this.#set("waiting", gone && p.code === "no-broadcast" ? GONE : p);
				await Promise.race([change, sleep(ASK_AGAIN, signal), aborted, over]);
			}
		} finally {
			presence.close();
			this.stage.leave();
		}
	}

	/** Follows the catalog; it returns or throws when the broadcast is over. */
	async #play(session: Session, namespace: Namespace, gone: boolean, signal: AbortSignal): Promise<void> {
		if (!gone) this.#set("loading");
		const hangFirst = namespace.at(-1)?.endsWith(".hang") ?? false;
		const formats = [
			{ name: MSF_TRACK, reader: () => new MsfCatalog() },
			{ name: HANG_TRACK, reader: () => ({ read: parseHang }) },
		];
		if (hangFirst) formats.reverse();
		let refused: RequestFailed | undefined;
		for (const f of formats) {
			try {
				await this.#follow(session, namespace, f.name, f.reader, signal);
				return;
			} catch (err) {
				if (!(err instanceof RequestFailed) || err.code !== RequestCode.DOES_NOT_EXIST) throw err;
				refused ??= err;
			}
		}
		throw refused;
	}

	async #follow(
		session: Session,
		namespace: Namespace,
		name: string,
		newReader: () => CatalogReader,
		signal: AbortSignal,
	): Promise<void> {
		let newest = -1;
		let fail!: (err: unknown) => void;
		const failed = new Promise<never>((_, reject) => {
			fail = reject;
		});
		failed.catch(() => undefined);
		// Each group begins with a whole catalog, which the objects after it change.
		const read = async (s: IncomingSubgroup) => {
			try {
				const group = Number(s.header.groupId);
				const reader = newReader();
				for (;;) {
					const o = await s.next();
					if (!o || group < newest || signal.aborted) return;
					if (o.status !== 0) continue;
					newest = group;
					const catalog = reader.read(o.payload, Number(o.id));
					await this.stage.show(session, namespace, catalog, fail);
					this.#announceTracks();
				}
			} catch (err) {
				if (err instanceof ProtocolError) throw err;
				if (err instanceof MediaError) fail(new PlayerError("no-catalog", err.message));
				else if (err instanceof PlayerError) fail(err);
			} finally {
				s.cancel();
			}
		};
		const sub: Subscription = session.subscribe(
			{ namespace, name },
			{ filter: { type: "LargestObject" }, subscriberPriority: 0, groupOrder: "descending" },
			{ subgroup: read, datagram: () => undefined },
		);
		const watch = setInterval(() => {
			if (this.stage.silentFor(performance.now()) > SILENCE) {
				fail(new PlayerError("connection-lost", "Nothing has come for a while."));
			}
		}, 500);
		const aborted = new Promise<undefined>((resolve) =>
			signal.addEventListener("abort", () => resolve(undefined), { once: true }),
		);
		try {
			await Promise.race([sub.ok, aborted]);
			const reason = await Promise.race([sub.done, failed, aborted]);
			if (reason) throw reason;
		} finally {
			clearInterval(watch);
			sub.close();
		}
	}

	#announceTracks(): void {
		this.#out({
			type: "tracks",
			video: this.stage.choices.map((r) => ({
				name: r.name,
				width: r.width,
				height: r.height,
				bitrate: r.bitrate,
				codec: r.codec,
			})),
			audio: this.stage.hasSound,
		});
	}

	async #summarise(): Promise<void> {
		if (this.#state === "idle" || this.#state === "paused") return;
		this.#out({ type: "stats", stats: await this.stage.summary(this.#reconnects) });
	}
}

/** Reads the objects of a group of a catalog track, in order. */
interface CatalogReader {
	read(data: Uint8Array, id: number): Catalog;
}

const GONE = problem("publisher-gone", "The publisher has left; playing goes on when it is back.");

/** Waits for a while, or until the signal comes. It leaves nothing at the signal, which may outlast many waits. */
function sleep(ms: Millis, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const end = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", end);
			resolve();
		};
		const timer = setTimeout(end, ms);
		signal.addEventListener("abort", end);
	});
}
