"""Who calls: four ways to tell, one port. The process chooses one; what a caller may do is the policy's matter."""
