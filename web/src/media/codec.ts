import type { Micros } from "./frame.ts";

/** Lengths of an Opus frame by its configuration, in units of 2.5 ms. RFC 6716 Section 3.1 */
function opusFrame(config: number): number {
	if (config < 12) return [4, 8, 16, 24][config % 4] as number;
	if (config < 16) return config % 2 === 0 ? 4 : 8;
	return [1, 2, 4, 8][config % 4] as number;
}

/** How long an Opus packet plays. RFC 6716 Section 3.2 */
export function opusDuration(packet: Uint8Array): Micros {
	const toc = packet[0];
	if (toc === undefined) return 0;
	const code = toc & 3;
	const count = code === 0 ? 1 : code < 3 ? 2 : (packet[1] ?? 0) & 0x3f;
	return count * opusFrame(toc >> 3) * 2500;
}

/** Samples in a packet of AAC. */
const AAC_FRAME = 1024;

/** How long a packet of sound plays, or 0 where that cannot be told. */
export function packetDuration(codec: string, packet: Uint8Array, sampleRate: number): Micros {
	if (codec === "opus") return opusDuration(packet);
	if (codec.startsWith("mp4a") && sampleRate > 0) return (AAC_FRAME * 1e6) / sampleRate;
	return 0;
}

const VIDEO = /^(avc[13]|hvc1|hev1|av01|vp0?[89])/;
const AUDIO = /^(opus|mp4a|flac|mp3)/;

/** What a codec is for, by the string of a catalog. */
export function kindOf(codec: string): "video" | "audio" | undefined {
	if (VIDEO.test(codec)) return "video";
	if (AUDIO.test(codec)) return "audio";
	return undefined;
}

/** The codec string as WebCodecs has it. */
export function webCodec(codec: string): string {
	return /^opus$/i.test(codec) ? "opus" : codec;
}

/**
 * The configuration to hand a decoder. Opus in one or two channels needs none, and what an MP4 header has (dOps) is
 * not what a decoder takes; VP9 and AV1 have all they need in their frames.
 */
export function decoderDescription(codec: string, config: Uint8Array | undefined): Uint8Array | undefined {
	if (!config || config.length === 0) return undefined;
	if (/^(opus|vp0?[89]|av01)/.test(codec)) return undefined;
	// With parameter sets in the frames there is no configuration; its presence says that frames have length prefixes.
	return config;
}
