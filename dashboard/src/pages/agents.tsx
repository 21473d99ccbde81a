import { Alert } from '@mantine/core'
import { useMe } from '../session.tsx'
import { AgentList } from '../ui/agent-list.tsx'
import { NewAgent } from '../ui/new-agent.tsx'
import { Page } from '../ui/page.tsx'

export function AgentsPage() {
  const { role } = useMe()
  if (role === 'member') {
    return (
      <Page title="Agents">
        <Alert variant="light">Only admins and owners manage agents and keys. Ask one of them.</Alert>
      </Page>
    )
  }
  return (
    <Page title="Agents" lead="Machines and programs that report heartbeats." actions={<NewAgent />}>
      <AgentList />
    </Page>
  )
}
