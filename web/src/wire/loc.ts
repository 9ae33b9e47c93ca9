import { PROPERTY_IMMUTABLE, type Property, readProperties, withImmutable } from "./kvp.ts";
import type { Uint } from "./uint.ts";

/** Numbers of the properties of the Low Overhead Media Container. [LOC-04] Section "LOC Properties" */
export const LOC = {
	TIMESCALE: 0x08,
	FRAME_MARKING: 0x09,
	AUDIO_LEVEL: 0x0c,
	VIDEO_CONFIG: 0x0d,
	AUDIO_CONFIG: 0x0f,
	TIMESTAMP: 0x10,
	/** In drafts 02 and 03. */
	TIMESTAMP_02: 0x06,
	/** In drafts 00 and 01. */
	TIMESTAMP_00: 0x02,
	/**
	 * Our own: how far the moment of capture is from the timestamp of a LOC object, in microseconds as a zigzag
	 * integer.
	 */
	CAPTURE_OFFSET: 0x38c4,
} as const;

/** What the properties of an object say of the media in it. */
export interface MediaProperties {
	/** In units of the timescale, else microseconds since 1970. */
	timestamp?: Uint;
	/** The property that the timestamp was in. */
	timestampType?: number;
	timescale?: Uint;
	frameMarking?: Uint8Array;
	audioLevel?: number;
	videoConfig?: Uint8Array;
	audioConfig?: Uint8Array;
	/** Microseconds. */
	captureOffset?: number;
}

const AGE: Record<number, number> = { [LOC.TIMESTAMP]: 3, [LOC.TIMESTAMP_02]: 2, [LOC.TIMESTAMP_00]: 1 };

/** Reads the media properties of an object. Of the timestamps of several drafts the newest draft's counts. */
export function readMediaProperties(b: Uint8Array): MediaProperties {
	const m: MediaProperties = {};
	for (const p of b.length > 0 ? withImmutable(readProperties(b)) : []) setOne(m, p);
	return m;
}

function setOne(m: MediaProperties, p: Property): void {
	const type = Number(p.type);
	if (p.uint !== undefined) {
		switch (type) {
			case LOC.TIMESTAMP:
			case LOC.TIMESTAMP_02:
			case LOC.TIMESTAMP_00:
				if ((AGE[type] ?? 0) > (AGE[m.timestampType ?? 0] ?? 0)) {
					m.timestamp = p.uint;
					m.timestampType = type;
				}
				break;
			case LOC.TIMESCALE:
				m.timescale ??= p.uint;
				break;
			case LOC.AUDIO_LEVEL:
				m.audioLevel ??= Number(p.uint) & 0xff;
				break;
			case LOC.CAPTURE_OFFSET:
				m.captureOffset ??= unzigzag(Number(p.uint));
				break;
		}
		return;
	}
	switch (type) {
		case LOC.FRAME_MARKING:
			m.frameMarking ??= p.bytes;
			break;
		case LOC.VIDEO_CONFIG:
			m.videoConfig ??= p.bytes;
			break;
		case LOC.AUDIO_CONFIG:
			m.audioConfig ??= p.bytes;
			break;
		case PROPERTY_IMMUTABLE:
			break;
	}
}

function unzigzag(x: number): number {
	return x % 2 === 0 ? x / 2 : -(x + 1) / 2;
}

export function zigzag(x: number): number {
	return x >= 0 ? 2 * x : -2 * x - 1;
}
