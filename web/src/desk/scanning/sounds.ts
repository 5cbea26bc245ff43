/* A short generated sound for each kind of result; a result is never indicated by sound alone. */
import type { Kind } from '../../parts/controls.tsx';

/** Tones as frequency in hertz and length in seconds, one after the other. */
type Melody = [frequency: number, seconds: number][];

const THEMES: Record<string, { wave: OscillatorType; melodies: Record<Kind, Melody> }> = {
  classic: {
    wave: 'triangle',
    melodies: {
      success: [[880, 0.08]],
      information: [[660, 0.08], [880, 0.08]],
      warning: [[523, 0.12], [523, 0.12]],
      error: [[196, 0.18], [147, 0.26]],
    },
  },
  modern: {
    wave: 'sine',
    melodies: {
      success: [[1047, 0.06], [1319, 0.08]],
      information: [[784, 0.1]],
      warning: [[587, 0.1], [494, 0.14]],
      error: [[233, 0.14], [233, 0.14], [175, 0.2]],
    },
  },
  futuristic: {
    wave: 'square',
    melodies: {
      success: [[1568, 0.05]],
      information: [[1175, 0.05], [1568, 0.05]],
      warning: [[740, 0.07], [622, 0.07], [740, 0.07]],
      error: [[220, 0.1], [185, 0.1], [156, 0.2]],
    },
  },
};

export const SOUND_THEMES = Object.keys(THEMES);

let context: AudioContext | undefined;

export function play(kind: Kind, themeName: string): void {
  const theme = THEMES[themeName] ?? THEMES['classic'];
  if (!theme) return;
  try {
    context ??= new AudioContext();
    void context.resume();
    let at = context.currentTime;
    for (const [frequency, seconds] of theme.melodies[kind]) {
      const tone = context.createOscillator();
      const volume = context.createGain();
      tone.type = theme.wave;
      tone.frequency.value = frequency;
      volume.gain.setValueAtTime(theme.wave === 'square' ? 0.04 : 0.12, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + seconds);
      tone.connect(volume).connect(context.destination);
      tone.start(at);
      tone.stop(at + seconds);
      at += seconds;
    }
  } catch {
    // Without sound output nothing is lost: color, icon and text show the same.
  }
}
