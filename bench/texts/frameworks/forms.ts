// The forms that are measured beside each other.
import { aiSdk } from './ai-sdk.ts'
import type { Form } from './form.ts'
import { openinferenceAgents, openinferenceOpenai } from './openinference.ts'
import { openllmetry } from './openllmetry.ts'
import { opentelemetry } from './opentelemetry.ts'

export const forms: readonly Form[] = [opentelemetry, openinferenceOpenai, openinferenceAgents, aiSdk, openllmetry]
