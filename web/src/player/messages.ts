import type { Micros, Millis } from "../media/frame.ts";
import type { Target } from "../play/clock.ts";
import type { Problem } from "./problem.ts";
import type { PlayerStats } from "./stats.ts";

/** Automatic, the smallest one, or the name of a video track. */
export type Quality = "auto" | "lowest" | string;

export interface Source {
	url: string;
	namespace: string;
	/** SHA-256 of the relay's certificate in hexadecimal, for relays without one that browsers trust. */
	fingerprint: string | undefined;
	/** The relay is told how late the frames are shown. */
	report: boolean;
}

/** From the page to its worker. */
export type ToWorker =
	| { type: "init"; canvas: OffscreenCanvas; sound: MessagePort; target: Target; quality: Quality }
	| { type: "load"; source: Source | undefined }
	| { type: "play" }
	| { type: "pause" }
	| { type: "target"; target: Target }
	| { type: "quality"; quality: Quality }
	/** Whether a message is wanted for each picture. */
	| { type: "frames"; wanted: boolean }
	| { type: "sound"; clock: SoundClock | undefined };

/** How the audio output's clock runs beside the wall clock. */
export interface SoundClock {
	sampleRate: number;
	/** The sample that is heard at the moment wall, in seconds of the audio context's time. */
	heard: number;
	/** Milliseconds since 1970. */
	wall: Millis;
	/** How much later than it is rendered a sample is heard. */
	latency: Millis;
}

/** A picture that was shown. */
export interface ShownFrame {
	/** When, in milliseconds since 1970. */
	at: Millis;
	/** When it was captured, if the publisher says so, in milliseconds since 1970. */
	captured: Millis | undefined;
	/** Seconds. */
	mediaTime: number;
	width: number;
	height: number;
	/** The rendition. */
	track: string;
	/** How much later the sound that belongs to it is heard; undefined while no sound is. */
	skew: Millis | undefined;
}

export type State = "idle" | "connecting" | "waiting" | "loading" | "playing" | "paused" | "stalled" | "failed";

export interface TrackChoice {
	name: string;
	width: number;
	height: number;
	bitrate: number;
	codec: string;
}

/** From the worker to its page. */
export type FromWorker =
	| { type: "state"; state: State; problem: Problem | undefined }
	| { type: "tracks"; video: TrackChoice[]; audio: boolean }
	| { type: "size"; width: number; height: number }
	| { type: "frame"; frame: ShownFrame }
	| { type: "stats"; stats: PlayerStats };

/** From the worker to the audio thread. */
export type ToSound =
	| { type: "port"; port: MessagePort }
	| { type: "pcm"; pts: Micros; planes: Float32Array[] }
	/** At the context's time, in seconds, this media time is to be heard. */
	| { type: "want"; context: number; pts: Micros }
	| { type: "restart" };

/** From the audio thread to the worker. */
export interface SoundStatus {
	/** The context's time of the block, in seconds, and the media time that was put there; undefined: nothing yet. */
	context: number;
	pts: Micros | undefined;
	/** Sound that lies ready, in microseconds. */
	ahead: Micros;
	/** Samples that were due and not there, and those that came too late, since the beginning. */
	missing: number;
	late: number;
	jumps: number;
}
